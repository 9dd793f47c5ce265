// Deliveries as they come from the stream, and which way each goes:
//
//   its endpoint                        the delivery
//   ──────────────────────────────────  ─────────────────────────────────────────────────────────
//   is no more                          is dropped
//   was disabled since                  is set aside, missed
//   is closed                           is set aside for its keeper
//   is open, and its lane has room      is sent
//   is open, and its lane has no room   is set aside for its keeper
//   cannot be sent to by this replica   is set aside for its keeper, which tries again and again
import type { StreamMessage } from '@integration-sync/runtime/bus';
import type { Log } from '@integration-sync/runtime/log';
import type { Deliver } from './courier.ts';
import { Unusable, type Directory, type Known, type Meant } from './directory.ts';
import { unpackParcel, type Delivery } from './envelope.ts';
import type { Hands, InHand } from './hands.ts';
import type { Keepers } from './keepers.ts';
import type { Lanes } from './lanes.ts';
import type { Numbers } from './numbers.ts';
import type { Persist } from './persistence.ts';
import type { Shelf } from './shelf.ts';

export interface IntakeOptions {
  directory: Pick<Directory, 'peek' | 'get'>;
  lanes: Pick<Lanes, 'offer' | 'room'>;
  hands: Pick<Hands, 'take'>;
  shelf: Pick<Shelf, 'put' | 'room'>;
  keepers: Pick<Keepers, 'ensure'>;
  deliver: Deliver;
  numbers: Pick<Numbers, 'deliveryLag'>;
  /** Gives up when the process stops. */
  persist: Persist;
  log: Log;
}

/** Endpoints that are being looked up. */
const lookupsMax = 500;

/** For the consumer of the stream: while the promise that it returns is open, no further message is taken. */
export function openIntake(options: IntakeOptions): (message: StreamMessage) => Promise<void> | undefined {
  const { directory, lanes, hands, shelf, keepers, deliver, numbers, persist, log } = options;
  const lookups = new Set<Promise<void>>();

  const find = (meant: Meant): Promise<Known | null | Unusable> =>
    directory.get(meant).catch((error: unknown) => {
      if (error instanceof Unusable) return error;
      throw error;
    });

  const send = async (inHand: InHand, delivery: Delivery): Promise<void> => {
    // Much may have happened while it waited for its turn.
    const known = directory.peek(delivery);
    if (known === undefined) return lookUp(inHand, delivery, [delivery]);
    if (known === null || !isOpenFor(known, delivery)) return route(inHand, delivery, known);
    try {
      await deliver(known, delivery, undefined);
    } catch (error) {
      log.debug({ err: error, eventId: delivery.eventId }, 'a delivery was not finished here');
      shelf.put(inHand, delivery);
      return;
    }
    try {
      // Known to be closed here means that something is held. From here on the delivery itself is done with.
      if (!known.open) await persist('finding a keeper', () => keepers.ensure(delivery.endpointId));
    } catch {
      // The process stops. What it still has in hand goes back to the stream.
      return;
    }
    inHand.ack();
  };

  const route = (inHand: InHand, delivery: Delivery, known: Known | null): void => {
    if (known === null) {
      inHand.ack();
      return;
    }
    const job = {
      run: () => send(inHand, delivery),
      giveBack: () => shelf.put(inHand, delivery),
    };
    const taken = isOpenFor(known, delivery) && lanes.offer(delivery.endpointId, job);
    if (!taken) shelf.put(inHand, delivery);
  };

  const routeAll = (inHand: InHand, deliveries: readonly Delivery[], known: Known | null): void => {
    for (const delivery of deliveries) route(inHand, delivery, known);
  };

  const lookUp = async (inHand: InHand, meant: Meant, deliveries: readonly Delivery[]): Promise<void> => {
    let known;
    try {
      known = await persist('looking an endpoint up', () => find(meant));
    } catch {
      // The process stops. What it still has in hand goes back to the stream.
      return;
    }
    if (known instanceof Unusable) {
      log.error({ err: known, endpoint: meant.endpointId }, 'an endpoint cannot be sent to');
      for (const delivery of deliveries) shelf.put(inHand, delivery);
      return;
    }
    routeAll(inHand, deliveries, known);
  };

  return (message) => {
    const deliveries = unpackParcel(message);
    const [first] = deliveries;
    if (first === undefined) {
      message.term('not a parcel of deliveries');
      return undefined;
    }
    const inHand = hands.take(message, deliveries.length);
    numbers.deliveryLag((Date.now() - message.storedAt.getTime()) / 1000);
    for (const [meant, some] of byEndpoint(deliveries)) {
      const known = directory.peek(meant);
      if (known !== undefined) {
        routeAll(inHand, some, known);
        continue;
      }
      const looking = lookUp(inHand, meant, some).finally(() => lookups.delete(looking));
      lookups.add(looking);
    }
    return lookups.size >= lookupsMax ? Promise.race(lookups) : (shelf.room() ?? lanes.room());
  };
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

const isOpenFor = ({ open, endpoint }: Known, { epoch }: Delivery): boolean =>
  open && endpoint.active && endpoint.epoch === epoch;
