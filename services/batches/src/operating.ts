// What operators' commands do with what batches keeps.
import { openOperating } from '@integration-sync/sync';
import { drafting } from './dds.ts';

export const batchesOperating = openOperating('batches', ['batches', drafting.collection]);
