// Whether the streams are still those in which endpoints remember places. After a loss of all that NATS had,
// a replica makes them again and they count from one; put back to an older copy, they have yet to reach some
// of the places. An endpoint that waits for events after the place where it was registered would wait for
// long, without a word.
import { eventsStream } from '@integration-sync/contracts';
import type { Bus, StreamFacts } from '@integration-sync/runtime/bus';
import type { Store } from '@integration-sync/runtime/store';
import type { Revisions } from '../endpoints/revisions.ts';
import type { Endpoints } from '../endpoints/store.ts';
import { heldStream } from '../streams/streams.ts';

interface KnownStream {
  _id: string;
  madeAt: Date;
}

export interface StreamResetOptions {
  bus: Pick<Bus, 'patiently' | 'streamFacts'>;
  store: Store;
  endpoints: Pick<Endpoints, 'forgetPlaces' | 'furthestPlaces' | 'bringBack'>;
  revisions: Pick<Revisions, 'changed'>;
}

/** Before anything is read from the stream. May be done twice, or be cut off, without harm. */
export async function forgetOtherStream({
  bus,
  store,
  endpoints,
  revisions,
}: StreamResetOptions): Promise<void> {
  const { madeAt } = await factsOf(bus, eventsStream);
  const streams = store.collection<KnownStream>('webhook_streams');
  const known = await streams.findOne({ _id: eventsStream });
  if (known?.madeAt.getTime() === madeAt.getTime()) return;
  if (known !== null) {
    for (const integration of await endpoints.forgetPlaces(madeAt)) await revisions.changed(integration);
  }
  await streams.updateOne({ _id: eventsStream }, { $set: { madeAt } }, { upsert: true });
}

/** The same of streams that are older than the places. While a process runs they do not become so. */
export async function bringBackPlaces({ bus, endpoints, revisions }: StreamResetOptions): Promise<void> {
  // Before the streams are asked: they only grow, so what is beyond their ends then was never in them.
  const furthest = await endpoints.furthestPlaces();
  const [events, held] = await Promise.all([factsOf(bus, eventsStream), factsOf(bus, heldStream)]);
  const ends = { events: events.lastSequence, held: held.lastSequence };
  if (furthest.events <= ends.events && furthest.held <= ends.held) return;
  for (const integration of await endpoints.bringBack(ends)) await revisions.changed(integration);
}

const factsOf = (bus: StreamResetOptions['bus'], stream: string): Promise<StreamFacts> =>
  bus.patiently(`stream ${stream}`, () => bus.streamFacts(stream));
