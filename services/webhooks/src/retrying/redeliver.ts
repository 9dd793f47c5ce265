// What the owner of an endpoint does with what is held for it:
//
//   the endpoint is   its owner
//   ────────────────  ──────────────────────────────────────────────────────────────────────────────────────
//   closed            tries one event at a time, each on its own schedule: the one on trial, else the oldest
//   open              delivers what is held through the endpoint's lane, oldest first, beside the stream
import { attemptDelaysMs } from '@integration-sync/contracts';
import type { Deliver } from '../delivering/deliver.ts';
import type { LaneKey, Lanes } from '../delivering/lanes.ts';
import { attemptsMax } from '../delivering/policy.ts';
import type { KnownEndpoint } from '../endpoints/cache.ts';
import type { Endpoint, Trial } from '../endpoints/endpoint.ts';
import { remember } from '../tools/remember.ts';
import type { Held, HeldEntry } from './held.ts';
import { nap, type OwnedEndpoint } from './owned.ts';

export interface RedeliverOptions {
  held: Pick<Held, 'at' | 'first' | 'read' | 'remove' | 'removeThrough'>;
  lanes: Pick<Lanes, 'run'>;
  deliver: Deliver;
  /** The process stops: nothing new begins. */
  closing: AbortSignal;
}

/** Once over. True when nothing is held any more. */
export type Redeliver = (known: KnownEndpoint, owned: OwnedEndpoint) => Promise<boolean>;

/** So many are read from the stream and delivered before they are removed from it. */
const chunkEntries = 64;

export function openRedeliver(options: RedeliverOptions): Redeliver {
  const { held, lanes, deliver, closing } = options;

  const tryOne = async (known: KnownEndpoint, owned: OwnedEndpoint): Promise<boolean> => {
    const { endpoint } = known;
    const entry = await nextOnTrial(held, endpoint);
    if (entry === undefined) return true;
    const { delivery, sequence } = entry;
    if (delivery.attempts >= attemptsMax) {
      await held.remove(sequence);
      return false;
    }
    const waitMs = waitMsOf(entry, owned.waiting);
    if (waitMs > 0) {
      // Much can happen meanwhile, so the endpoint is read again afterwards.
      await nap(owned, { ms: waitMs, forMore: false, closing });
      return false;
    }
    const result = await lanes.run(laneOf(endpoint), async () =>
      closing.aborted ? 'held' : deliver(known, delivery, { sequence, onTrial: true }),
    );
    if (result === 'settled') await held.remove(sequence);
    return false;
  };

  const drain = async (known: KnownEndpoint, owned: OwnedEndpoint): Promise<boolean> => {
    const { _id, epoch, trials = [] } = known.endpoint;
    let wakeAt = Infinity;
    for (let from = 1; ;) {
      const chunk = (await held.read(_id, epoch, from, chunkEntries)).map((entry) => asTried(entry, trials));
      const last = chunk.at(-1);
      if (last === undefined) break;
      const due: HeldEntry[] = [];
      for (const entry of chunk) {
        const waitMs = waitMsOf(entry, owned.waiting);
        if (waitMs > 0) wakeAt = Math.min(wakeAt, performance.now() + waitMs);
        else due.push(entry);
      }
      const { settled, trouble } = await deliverAll(options, known, due, owned);
      const wholeSoFar = settled.length === chunk.length && wakeAt === Infinity;
      if (wholeSoFar) await held.removeThrough(_id, epoch, last.sequence);
      else await Promise.all(settled.map(({ sequence }) => held.remove(sequence)));
      if (trouble !== undefined) throw trouble;
      if (settled.length < due.length || closing.aborted || owned.changed) return false;
      from = last.sequence + 1;
    }
    if (wakeAt === Infinity) return true;
    await nap(owned, { ms: wakeAt - performance.now(), forMore: true, closing });
    return false;
  };

  return (known, owned) => (known.endpoint.open ? drain(known, owned) : tryOne(known, owned));
}

async function nextOnTrial(
  held: RedeliverOptions['held'],
  { _id, epoch, trials = [] }: Endpoint,
): Promise<HeldEntry | undefined> {
  const [trial] = trials;
  const onTrial = trial === undefined ? undefined : await held.at(_id, epoch, trial.sequence);
  const entry = onTrial ?? (await held.first(_id, epoch));
  return entry === undefined ? undefined : asTried(entry, trials);
}

/** Those that need not be held any longer as they are. Once one has failed, no further one begins. */
async function deliverAll(
  { lanes, deliver, closing }: RedeliverOptions,
  known: KnownEndpoint,
  entries: readonly HeldEntry[],
  owned: OwnedEndpoint,
): Promise<{ settled: HeldEntry[]; trouble: Error | undefined }> {
  const settled: HeldEntry[] = [];
  let trouble: Error | undefined;
  const tried = entries.map(async (entry) => {
    const place = { sequence: entry.sequence, onTrial: false };
    try {
      const result = await lanes.run(laneOf(known.endpoint), async () =>
        known.open && trouble === undefined && !owned.changed && !closing.aborted
          ? deliver(known, entry.delivery, place)
          : 'held',
      );
      if (result === 'settled') settled.push(entry);
    } catch (error) {
      trouble ??= error instanceof Error ? error : new Error(String(error));
    }
  });
  await Promise.all(tried);
  return { settled, trouble };
}

/** An endpoint has eight in flight, so few wait at a time. */
const waitingMax = 1_000;

/**
 * How long until it is due: no longer than its own delay since its owner saw first that it waits, whatever is done to
 * the machine's clock meanwhile and however much the clock differs of the replica at which it failed.
 */
function waitMsOf({ sequence, delivery }: HeldEntry, waiting: Map<string, number>): number {
  const { attempts, dueAtMs } = delivery;
  const key = `${sequence}.${attempts}`;
  const leftMs = dueAtMs - Date.now();
  const now = performance.now();
  const since = waiting.get(key) ?? now;
  const waitMs = Math.min(leftMs, since + (attemptDelaysMs[attempts] ?? 0) - now);
  if (waitMs <= 0) {
    waiting.delete(key);
    return 0;
  }
  remember(waiting, key, since, waitingMax);
  return waitMs;
}

const laneOf = ({ _id, integration }: Endpoint): LaneKey => ({ endpointId: _id, integration });

/** Of an event that is or was on trial, the endpoint knows better than the stream how often it was tried. */
function asTried(entry: HeldEntry, trials: readonly Trial[]): HeldEntry {
  const trial = trials.find(({ sequence }) => sequence === entry.sequence);
  if (trial === undefined) return entry;
  const { attempts, dueAt } = trial;
  return { ...entry, delivery: { ...entry.delivery, attempts, dueAtMs: dueAt.getTime() } };
}
