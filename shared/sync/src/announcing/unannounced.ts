// What webhooks asks: which pushes of an integration were answered whose events may not stand on the stream yet. Their
// journal entries say so before they are answered, and until after their events are published.
import type { UnannouncedRuns } from '@integration-sync/contracts';
import type { BusHandler } from '@integration-sync/runtime/bus';
import type { Journal } from '../journal/journal.ts';

/** So many fit into an endpoint. There are more of them only after an outage of the bus. */
const runsMax = 500;

export const answerUnannounced =
  (journal: Pick<Journal, 'unannounced'>): BusHandler =>
  async ({ integration }) => {
    const syncIds = await journal.unannounced(integration, runsMax);
    const answer: UnannouncedRuns = { syncIds };
    return { body: JSON.stringify(answer), logFields: { entities: syncIds.length } };
  };
