// The bounds on replays, which hold over all replicas and restarts. An endpoint has one replay under way at a time, and the
// replays of an integration add a bounded number of bytes to the log on a day. So, however often a caller asks, the log has at
// most one copy of the replayed events that an endpoint has not got yet.
//
//   phase of a replay       how long the phase lasts
//   ─────────────────────   ─────────────────────────────────────────────────────────────────────────────
//   being stored            while the endpoint names the replay: until its replica ends it, or is dead (`replaying.until`)
//   being delivered         while the log has undelivered addressed events of the endpoint, by the stored offset of
//                           the endpoint, or else by the stored floor of its partition
import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { eventBatchesStream, Failure, limits, partitionOf, storedReplays } from '@integration-sync/contracts';
import type { Bus, BusRequest } from '@integration-sync/runtime/bus';
import type { Log } from '@integration-sync/runtime/log';
import type { Endpoint } from '../endpoints/endpoint.ts';
import type { Endpoints, Revisions } from '../endpoints/endpoint-store.ts';
import { readBatch } from '../log/logged-batch.ts';
import type { Offset, Offsets } from '../log/offsets.ts';
import type { Claims } from '../owning/partition-claims.ts';

export interface StoredProgress {
  claims: Pick<Claims, 'floorOf'>;
  offsets: Pick<Offsets, 'of'>;
}

interface ReplayBoundsOptions extends StoredProgress {
  bus: Pick<Bus, 'readStream'>;
  endpoints: Pick<Endpoints, 'beginReplay' | 'endReplay'>;
  revisions: Pick<Revisions, 'countReplayed'>;
  log: Log;
}

/** For this time after the deadline of its request, a replay may still wait for the answer to its last write. */
const lastWriteMs = 15_000;
/** The waits before stored offsets and floors are read again, because they are stored some time after deliveries. */
const storedWithinMs = [150, 300, 600] as const;

type Admit = (bytes: number, stored: number) => Promise<void>;
type Replayed = Pick<Endpoint, '_id' | 'integration' | 'epoch'>;

export type ReplayBounds = ReturnType<typeof openReplayBounds>;

export function openReplayBounds(options: ReplayBoundsOptions) {
  const { bus, endpoints, revisions, log } = options;
  /** How many events of earlier replays are not delivered to the endpoint yet. */
  const leftOf = async (endpoint: Replayed): Promise<number> => {
    const { sequence, index, open } = await storedOffsetOf(options, endpoint);
    const first = Math.min(sequence, ...open.map((one) => one.sequence));
    const reading = { subject: storedReplays(endpoint.integration), from: { sequence: first }, exact: true };
    let left = 0;
    for await (const stored of bus.readStream(eventBatchesStream, reading)) {
      const batch = readBatch(stored, log);
      if (batch?.endpointId !== endpoint._id) continue;
      if (batch.sequence >= sequence) left += batch.count - (batch.sequence === sequence ? index : 0);
      left += open.filter((one) => one.sequence === batch.sequence).length;
    }
    return left;
  };

  return {
    /** Stores a replay by `store`. Throws `conflict` while an earlier replay of the endpoint is under way. */
    async run<T>(
      endpoint: Replayed,
      { deadline }: Pick<BusRequest, 'deadline'>,
      store: (admit: Admit) => Promise<T>,
    ): Promise<T> {
      const by = randomUUID();
      const until = new Date(Date.now() + deadline - performance.now() + lastWriteMs);
      if (!(await endpoints.beginReplay(endpoint._id, { by, until }))) throw underWay(await leftOf(endpoint));
      try {
        let left = await leftOf(endpoint);
        for (const ms of storedWithinMs) {
          if (left === 0) break;
          await wait(ms);
          left = await leftOf(endpoint);
        }
        if (left > 0) throw underWay(left);
        return await store(async (bytes, stored) => {
          const max = limits.replayedBytesPerDayMax;
          if (!(await revisions.countReplayed(endpoint.integration, bytes, max)))
            throw exhausted(max, stored);
        });
      } finally {
        await endpoints.endReplay(endpoint._id, by);
      }
    },
  };
}

/** Which events an endpoint has not got in an epoch: by its stored offset, or else by the stored floor of its partition. */
export async function storedOffsetOf(
  { claims, offsets }: StoredProgress,
  { _id, integration, epoch }: Replayed,
): Promise<Offset> {
  // The floor is read before the offset: a floor passes an undelivered event only after the offset with that event is stored.
  const floor = await claims.floorOf(partitionOf(integration));
  const offset = (await offsets.of(integration)).get(_id);
  return offset?.epoch === epoch ? offset : { sequence: floor + 1, index: 0, open: [] };
}

const underWay = (left: number): Failure =>
  new Failure(
    'conflict',
    left === 0
      ? 'A replay of this webhook is being stored. Replay again once its events are delivered.'
      : `A replay of this webhook is under way: ${left} of its events are left to deliver. Replay again once they are delivered.`,
    { retryAfterSeconds: 5 },
  );

const exhausted = (max: number, stored: number): Failure =>
  new Failure(
    'conflict',
    `The replays of an integration may add ${max} bytes a day to the log; ${stored} events of this replay will be sent. Replay the rest tomorrow.`,
  );
