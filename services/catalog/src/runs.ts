// The pushes that batches keeps in its own journal, for the listing of all.
import { requestHeaders, RunsFound, subjects } from '@integration-sync/contracts';
import type { Bus } from '@integration-sync/runtime/bus';
import { readAnswer, type OpenRunSource } from '@integration-sync/sync';

const timeoutMs = 5_000;

export const runsOfBatches =
  (bus: Bus): OpenRunSource =>
  ({ integration, requestId }) => ({
    async read(question) {
      const reply = await bus.request(subjects.batchesRunsList, {
        headers: { [requestHeaders.integration]: integration, [requestHeaders.requestId]: requestId },
        body: JSON.stringify(question),
        timeoutMs,
      });
      return readAnswer(RunsFound, reply.body);
    },
  });
