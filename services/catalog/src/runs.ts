// The pushes that batches keeps in its own journal, for the listing of all.
import { requestHeaders, RunFound, RunsFound, subjects } from '@integration-sync/contracts';
import type { Bus } from '@integration-sync/runtime/bus';
import { readAnswer, type RunJournal } from '@integration-sync/sync';

const timeoutMs = 5_000;

export const runsOfBatches = (bus: Bus): RunJournal => ({
  entityTypes: ['batch'],
  open: ({ integration, requestId }, filter) => ({
    async read(question) {
      const isFiltered = Object.keys(filter).length > 0;
      const reply = await bus.request(isFiltered ? subjects.batchesRunsFind : subjects.batchesRunsList, {
        headers: { [requestHeaders.integration]: integration, [requestHeaders.requestId]: requestId },
        body: JSON.stringify(isFiltered ? { ...question, filter } : question),
        timeoutMs,
        repeatable: true,
      });
      return readAnswer(RunsFound, reply.body);
    },
  }),
  async find({ integration, requestId }, syncId) {
    const reply = await bus.request(subjects.batchesRunsGet, {
      headers: {
        [requestHeaders.integration]: integration,
        [requestHeaders.requestId]: requestId,
        [requestHeaders.id]: syncId,
      },
      timeoutMs,
      repeatable: true,
    });
    return readAnswer(RunFound, reply.body).run ?? undefined;
  },
});
