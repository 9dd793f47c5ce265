// The batches service: batches of products, and the due-diligence statements drafted for them. This file says which
// handler answers which subject.
import { subjects } from '@integration-sync/contracts';
import { recordService } from '@integration-sync/sync';
import { batchesKind } from './batches.ts';
import { resolveProducts } from './products.ts';

export const startBatches = recordService({
  service: 'batches',
  description: 'Batches and their due-diligence drafts: pushes and listings',
  async open({ bus, openKinds }) {
    const batches = batchesKind(resolveProducts(bus));
    const sync = await openKinds([batches]);
    return {
      sync,
      pushes: {
        [subjects.batchesPush]: sync.push(batches),
        [subjects.batchesPlan]: sync.plan(batches),
        [subjects.batchesArchive]: sync.changeStatus(batches, 'archive'),
      },
      others: {
        [subjects.batchesList]: sync.list(batches),
        [subjects.ddsList]: sync.listDrafts(batches),
        [subjects.batchesRunsList]: sync.answerRuns,
        [subjects.batchesRunsFind]: sync.answerRuns,
        [subjects.batchesRunsGet]: sync.answerRun,
        [subjects.batchesRunsUnannounced]: sync.answerUnannounced,
      },
    };
  },
});
