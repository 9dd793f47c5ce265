// Waits for the end of all background work: replicas have settled and announced every cut-off push, and every receiver has its
// deliveries.
import { setTimeout as wait } from 'node:timers/promises';
import type { Bus } from '@integration-sync/runtime/bus';
import type { Store } from '@integration-sync/runtime/store';
import { eventsStream } from '@integration-sync/contracts';
import { isMeantFor } from './check/deliveries.ts';
import { isTaken, nameOf } from './check/facts.ts';
import { readLedger } from './ledger.ts';
import type { EventLine } from './lines.ts';
import { until } from './until.ts';

export const journals = ['catalog_journal', 'batches_journal'] as const;

/** How often to poll until a cut-off push is taken over: after 15 s, by a replica that checks every 5 s and may be late. */
const takenOverLooks = 240;
/** How often to poll until a settled push is checked once more, 150 s after a replica has taken it over. */
const settledLooks = 600;

const unannounced = { due: { $exists: true }, $or: [{ watched: { $exists: false } }, { state: 'written' }] };
const undecided = { due: { $exists: true } };

/** The sync ids of pushes that are not announced yet; none while MongoDB does not answer. */
export async function unannouncedIn(store: Store): Promise<string[]> {
  const found = journals.map((name) => store.collection<{ _id: string }>(name).find(unannounced).toArray());
  return (await Promise.all(found).catch(() => [])).flat().map(({ _id }) => _id);
}

/** Waits until cut-off pushes are settled; resolves with false if that took too long. */
export const untilAnnounced = (store: Store, waitsForLateWrites: boolean): Promise<boolean> =>
  until(
    async () => {
      const of = waitsForLateWrites ? undecided : unannounced;
      const counts = await Promise.all(journals.map((name) => store.collection(name).countDocuments(of)));
      return counts.every((count) => count === 0);
    },
    { looksMax: waitsForLateWrites ? settledLooks : takenOverLooks, everyMs: 500 },
  );

/** How many polls without a delivery end the wait: a failed delivery is attempted again after 30 s at the latest. */
const quietLooks = 50;
const lookEveryMs = 1_000;

/** Waits until every receiver has all its events but those that were given up, or nothing has come for a while. */
export async function untilDelivered(
  folder: string,
  bus: Pick<Bus, 'streamFacts'>,
  readEvents: () => Promise<EventLine[]>,
  readGivenUp: () => Promise<ReadonlySet<string>>,
): Promise<void> {
  const endpoints = await readLedger(folder, 'endpoints');
  let [lastSequence, wanted, count] = [-1, [''], 0];
  for (let quiet = 0; quiet < quietLooks; quiet += 1) {
    const facts = await bus.streamFacts(eventsStream);
    if (facts.lastSequence !== lastSequence) {
      lastSequence = facts.lastSequence;
      const events = await readEvents();
      wanted = endpoints.flatMap((of) => {
        const meant = events.filter((event) => isMeantFor(event, of));
        return meant.map(({ id }) => nameOf({ endpoint: of.endpoint, event: id }));
      });
    }
    const taken = new Set((await readLedger(folder, 'deliveries')).filter(isTaken).map(nameOf));
    if (taken.size > count) quiet = 0;
    count = taken.size;
    const missing = wanted.filter((name) => !taken.has(name));
    if (quiet > 2) {
      const givenUp = missing.length === 0 ? new Set() : await readGivenUp();
      if (missing.every((name) => givenUp.has(name))) return;
    }
    await wait(lookEveryMs);
  }
}
