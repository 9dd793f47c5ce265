// What the commands in services/ops need of batches: the documents of an integration, and its pushes under way.
import { openOperating } from '@integration-sync/sync';
import { drafting } from './dds.ts';

export const batchesOperating = openOperating('batches', ['batches', drafting.collection]);
