// Whether EVENTS is still the stream in which endpoints remember places. After a loss of all that NATS had,
// a replica makes them again and they count from one; put back to an older copy, they have yet to reach some
// of the places. An endpoint that waits for events after the place where it was registered would wait for
// long, without a word.
import { eventsStream } from '@integration-sync/contracts';
import type { Bus, StreamFacts } from '@integration-sync/runtime/bus';
import type { Store } from '@integration-sync/runtime/store';
import type { Endpoints, Revisions } from './store.ts';

interface KnownStream {
  _id: string;
  madeAt: Date;
}

interface StreamResetOptions {
  bus: Pick<Bus, 'messagesIn' | 'patiently' | 'streamFacts'>;
  store: Store;
  endpoints: Pick<Endpoints, 'forgetPlaces' | 'furthestPlace' | 'bringBack'>;
  revisions: Pick<Revisions, 'changed'>;
}

/** Before the stream is made again: what comes first in the new one counts as later than every place. */
export async function forgetMissingStream({
  bus,
  store,
  endpoints,
  revisions,
}: StreamResetOptions): Promise<void> {
  const isThere = async (): Promise<boolean> => (await bus.messagesIn(eventsStream)) !== undefined;
  if (await bus.patiently(`stream ${eventsStream}`, isThere)) return;
  if ((await streamsOf(store).findOne({ _id: eventsStream })) === null) return;
  for (const integration of await endpoints.forgetPlaces(new Date())) await revisions.changed(integration);
}

/** Before anything is read from the stream. May be done twice, or be cut off, without harm. */
export async function forgetOtherStream({
  bus,
  store,
  endpoints,
  revisions,
}: StreamResetOptions): Promise<void> {
  const { madeAt } = await factsOf(bus);
  const streams = streamsOf(store);
  const known = await streams.findOne({ _id: eventsStream });
  if (known?.madeAt.getTime() === madeAt.getTime()) return;
  if (known !== null) {
    for (const integration of await endpoints.forgetPlaces(madeAt)) await revisions.changed(integration);
  }
  await streams.updateOne({ _id: eventsStream }, { $set: { madeAt } }, { upsert: true });
}

/** Where EVENTS was put back to an older copy. A process needs this only at its start. */
export async function bringBackPlaces({ bus, endpoints, revisions }: StreamResetOptions): Promise<void> {
  // Before the stream is asked: it only grows, so what is beyond its end then was never in it.
  const furthest = await endpoints.furthestPlace();
  const { lastSequence } = await factsOf(bus);
  if (furthest <= lastSequence) return;
  for (const integration of await endpoints.bringBack(lastSequence)) await revisions.changed(integration);
}

const streamsOf = (store: Store) => store.collection<KnownStream>('webhook_streams');

const factsOf = (bus: StreamResetOptions['bus']): Promise<StreamFacts> =>
  bus.patiently(`stream ${eventsStream}`, () => bus.streamFacts(eventsStream));
