// Opens what catalog does with expectations: their checks, the gauge of those that are overdue, and the handlers.
import { entityTypes } from '@integration-sync/contracts';
import { gaugeByLabel, readInTime } from '@integration-sync/runtime/metrics';
import type { RecordServiceParts, RunJournal } from '@integration-sync/sync';
import { openChecks } from './checks.ts';
import { latestCheckAt } from './due.ts';
import { getExpectations, setExpectations } from './handlers.ts';
import { readPushesOf } from './read-pushes.ts';
import { openExpectationStore } from './expectation-store.ts';

/** `journals` are the journals of pushes of catalog and of batches. */
export async function openExpectations(parts: RecordServiceParts, journals: readonly RunJournal[]) {
  const { store, registry, use } = parts;
  const expectations = await openExpectationStore(store);
  const at = new Date(parts.now());
  await expectations.bringForward(latestCheckAt(at), at);
  const options = { ...parts, expectations, read: readPushesOf(journals) };
  gaugeByLabel(registry, {
    name: 'sync_overdue',
    help: 'Expectations whose push has not come by its due time, over all replicas.',
    label: 'kind',
    async read() {
      // The gauge is NaN if MongoDB cannot be read: 0 would mean that no push is overdue.
      const counts = await readInTime(() => expectations.countOverdue(), undefined);
      return entityTypes.map((kind) => [kind, counts === undefined ? Number.NaN : (counts.get(kind) ?? 0)]);
    },
  });
  use(openChecks(options));
  return { get: getExpectations(options), set: setExpectations(options) };
}
