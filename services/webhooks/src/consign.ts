// Which events of one integration go to which of its endpoints, those together that get the same: most endpoints
// subscribe to one of a few sets of kinds, so a thousand of them are a few groups.
import type { Addressee } from './envelope.ts';
import type { Occurred } from './occurrence.ts';
import type { VersionedSubscriber } from './subscribers.ts';
import { epochOf, isMeantFor } from './subscription.ts';

export interface Group {
  to: Addressee[];
  occurrences: readonly Occurred[];
}

export function consign(subscribers: readonly VersionedSubscriber[], events: readonly Occurred[]): Group[] {
  const alike = new Map<string, Group>();
  const others: Group[] = [];
  const firstSequence = Math.min(...events.map(({ sequence }) => sequence));
  const concernEndpoints = events.some(({ aboutEndpoint }) => aboutEndpoint !== undefined);

  for (const subscriber of subscribers) {
    const addressee = { endpointId: subscriber._id, epoch: subscriber.epoch, version: subscriber.version };
    if (concernEndpoints || !hasBeenAsItIs(subscriber, firstSequence)) {
      for (const [epoch, occurrences] of byEpoch(subscriber, events)) {
        others.push({ to: [{ ...addressee, epoch }], occurrences });
      }
      continue;
    }
    const key = subscriber.events.join();
    const group = alike.get(key);
    if (group !== undefined) group.to.push(addressee);
    else
      alike.set(key, {
        to: [addressee],
        occurrences: events.filter((event) => isMeantFor(subscriber, event)),
      });
  }
  return [...alike.values(), ...others];
}

/** Then what it gets depends on the kinds that it subscribes to, and on nothing else. */
const hasBeenAsItIs = (
  { active, eventsAfter, earlierEvents }: VersionedSubscriber,
  sequence: number,
): boolean => active && sequence > eventsAfter && earlierEvents.every(({ through }) => sequence > through);

/** Nearly always one epoch; two where the endpoint was disabled a moment ago. */
function byEpoch(subscriber: VersionedSubscriber, events: readonly Occurred[]): Map<number, Occurred[]> {
  const epochs = new Map<number, Occurred[]>();
  for (const event of events) {
    const epoch = epochOf(subscriber, event);
    if (epoch === undefined) continue;
    const others = epochs.get(epoch);
    if (others === undefined) epochs.set(epoch, [event]);
    else others.push(event);
  }
  return epochs;
}
