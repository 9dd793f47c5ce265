// What operators' commands need of batches: the documents of an integration, and whether it still pushes.
import { openOperating } from '@integration-sync/sync';
import { drafting } from './dds.ts';

export const batchesOperating = openOperating('batches', ['batches', drafting.collection]);
