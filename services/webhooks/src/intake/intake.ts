// Deliveries as they come from the stream, and which way each goes:
//
//   its endpoint                        the delivery
//   ──────────────────────────────────  ─────────────────────────────────────────────────────────
//   is no more                          is dropped
//   was disabled since                  is set aside, missed
//   is closed                           is set aside for its owner
//   is open, and its lane has room      is sent
//   is open, and its lane has no room   is set aside for its owner
//   cannot be sent to by this replica   is set aside for its owner, which tries again and again
//
// What waited while the process stood still is left to the replica that has it by then.
import type { StreamMessage } from '@integration-sync/runtime/bus';
import type { Log } from '@integration-sync/runtime/log';
import type { Deliver } from '../delivering/deliver.ts';
import type { Lanes } from '../delivering/lanes.ts';
import { Unusable, type EndpointCache, type KnownEndpoint, type Meant } from '../endpoints/cache.ts';
import type { WebhookMetrics } from '../metrics.ts';
import type { Owners } from '../retrying/owners.ts';
import type { SetAside } from '../retrying/set-aside.ts';
import type { Leases, Lease } from '../streams/leases.ts';
import { unpackParcel, type Delivery } from '../streams/messages.ts';
import { readDeliveriesSubject, type Way } from '../streams/subjects.ts';
import type { Retry } from '../tools/retry.ts';

export interface IntakeOptions {
  cache: Pick<EndpointCache, 'peek' | 'get'>;
  lanes: Pick<Lanes, 'offer' | 'room' | 'backlogRoom'>;
  leases: Pick<Leases, 'take'>;
  setAside: Pick<SetAside, 'put' | 'room'>;
  owners: Pick<Owners, 'ensure'>;
  deliver: Deliver;
  metrics: Pick<WebhookMetrics, 'deliveryLag'>;
  /** Gives up when the process stops. */
  retry: Retry;
  log: Log;
}

/** Endpoints that are being looked up. What can wait leaves room for the others. */
const lookupsMax: Readonly<Record<Way, number>> = { shared: 500, backlog: 250 };

/** For the consumer of the stream: while the promise that it returns is open, no further message is taken. */
export function openIntake(options: IntakeOptions): (message: StreamMessage) => Promise<void> | undefined {
  const { cache, lanes, leases, setAside, metrics, retry, log } = options;
  const lookups = new Set<Promise<void>>();

  const send = async (lease: Lease, delivery: Delivery, way: Way): Promise<void> => {
    // Much may have happened while it waited for its turn.
    if (lease.isLapsed) return lease.leave();
    const known = cache.peek(delivery);
    if (known === undefined) return lookUp(lease, [delivery], delivery, way);
    if (known === null || !isOpenFor(known, delivery)) return route(lease, delivery, known, way);
    await deliverLeased(options, lease, delivery, known);
  };

  const route = (lease: Lease, delivery: Delivery, known: KnownEndpoint | null, way: Way): void => {
    if (known === null) {
      lease.ack();
      return;
    }
    const job = {
      run: () => send(lease, delivery, way),
      giveBack: () => (lease.isLapsed ? lease.leave() : setAside.put(lease, delivery)),
    };
    const { _id: endpointId, integration } = known.endpoint;
    const taken = isOpenFor(known, delivery) && lanes.offer({ endpointId, integration }, job, way);
    if (!taken) setAside.put(lease, delivery);
  };

  /** All of one endpoint. */
  const lookUp = async (
    lease: Lease,
    deliveries: readonly Delivery[],
    meant: Meant,
    way: Way,
  ): Promise<void> => {
    let known;
    try {
      known = await retry('looking an endpoint up', () => findUsable(cache, meant));
    } catch {
      // The process stops. What it still leases goes back to the stream.
      return;
    }
    if (known instanceof Unusable) {
      log.error({ err: known, endpoint: meant.endpointId }, 'an endpoint cannot be sent to');
      for (const delivery of deliveries) setAside.put(lease, delivery);
      return;
    }
    for (const delivery of deliveries) route(lease, delivery, known, way);
  };

  return (message) => {
    const { integration, way } = readDeliveriesSubject(message.subject);
    const deliveries = unpackParcel(message);
    const [first] = deliveries;
    if (first === undefined) {
      message.term('not a parcel of deliveries');
      return undefined;
    }
    const lease = leases.take(message, deliveries.length);
    if (lease === undefined) return undefined;
    metrics.deliveryLag((Date.now() - message.storedAt.getTime()) / 1000);
    for (const [meant, some] of byEndpoint(deliveries)) {
      const known = cache.peek(meant);
      if (known !== undefined) {
        for (const delivery of some) route(lease, delivery, known, way);
        continue;
      }
      const looking = lookUp(lease, some, meant, way).finally(() => lookups.delete(looking));
      lookups.add(looking);
    }
    if (lookups.size >= lookupsMax[way]) return Promise.race(lookups);
    return setAside.room(way) ?? (way === 'shared' ? lanes.room() : lanes.backlogRoom(integration));
  };
}

const findUsable = (cache: IntakeOptions['cache'], meant: Meant): Promise<KnownEndpoint | null | Unusable> =>
  cache.get(meant).catch((error: unknown) => {
    if (error instanceof Unusable) return error;
    throw error;
  });

/**
 * Delivers, and then settles the delivery's part of the lease: what could not be finished here is set aside.
 */
async function deliverLeased(
  { deliver, setAside, owners, retry, log }: IntakeOptions,
  lease: Lease,
  delivery: Delivery,
  known: KnownEndpoint,
): Promise<void> {
  try {
    await deliver(known, delivery, undefined);
  } catch (error) {
    log.debug({ err: error, eventId: delivery.eventId }, 'a delivery was not finished here');
    setAside.put(lease, delivery);
    return;
  }
  try {
    // A closed endpoint has something held, and needs an owner. The delivery itself is done with.
    if (!known.open) await retry('finding a keeper', () => owners.ensure(delivery.endpointId));
  } catch {
    // The process stops. What it still leases goes back to the stream.
    return;
  }
  lease.ack();
}

/** Those of one endpoint stand together. */
function* byEndpoint(deliveries: readonly Delivery[]): Generator<[Delivery, readonly Delivery[]]> {
  for (let from = 0; from < deliveries.length;) {
    const first = deliveries[from];
    if (first === undefined) return;
    let to = from + 1;
    while (deliveries[to]?.endpointId === first.endpointId) to += 1;
    yield [first, deliveries.slice(from, to)];
    from = to;
  }
}

const isOpenFor = ({ open, endpoint }: KnownEndpoint, { epoch }: Delivery): boolean =>
  open && endpoint.active && endpoint.epoch === epoch;
