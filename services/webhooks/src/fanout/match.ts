// Which events of one integration go to which of its endpoints, those together that get the same: most endpoints
// subscribe to one of a few sets of kinds, so a thousand of them are a few groups.
import type { VersionedSubscriber } from '../endpoints/endpoint.ts';
import type { Addressee } from '../streams/messages.ts';
import type { StreamEvent } from './event.ts';
import { areAfterEveryCutoff, epochOf, isMeantFor } from './subscription.ts';

export interface Group {
  to: Addressee[];
  events: readonly StreamEvent[];
}

export function matchEvents(
  subscribers: readonly VersionedSubscriber[],
  events: readonly StreamEvent[],
): Group[] {
  const alike = new Map<string, Group>();
  const others: Group[] = [];
  const firstSequence = Math.min(...events.map(({ sequence }) => sequence));
  const origins = new Set(events.map(({ origin }) => origin));
  const concernEndpoints = events.some(({ aboutEndpoint }) => aboutEndpoint !== undefined);

  for (const subscriber of subscribers) {
    const addressee = { endpointId: subscriber._id, epoch: subscriber.epoch, version: subscriber.version };
    // Where it has been as it is, what it gets depends on the kinds that it subscribes to, and on nothing else.
    const hasBeenAsItIs = subscriber.active && areAfterEveryCutoff(subscriber, firstSequence, origins);
    if (concernEndpoints || !hasBeenAsItIs) {
      for (const [epoch, some] of byEpoch(subscriber, events)) {
        others.push({ to: [{ ...addressee, epoch }], events: some });
      }
      continue;
    }
    const key = subscriber.events.join();
    const group = alike.get(key);
    if (group !== undefined) group.to.push(addressee);
    else
      alike.set(key, {
        to: [addressee],
        events: events.filter((event) => isMeantFor(subscriber, event)),
      });
  }
  return [...alike.values(), ...others];
}

/** Nearly always one epoch; two where the endpoint was disabled a moment ago. */
function byEpoch(
  subscriber: VersionedSubscriber,
  events: readonly StreamEvent[],
): Map<number, StreamEvent[]> {
  const epochs = new Map<number, StreamEvent[]>();
  for (const event of events) {
    const epoch = epochOf(subscriber, event);
    if (epoch === undefined) continue;
    const others = epochs.get(epoch);
    if (others === undefined) epochs.set(epoch, [event]);
    else others.push(event);
  }
  return epochs;
}
