// Whether EVENTS is still the stream of the sequences that endpoints store. A stream that is created again
// counts from one, and a stream that was restored from an older copy ends before some stored sequences. An
// endpoint that gets only events after such a sequence would get no events for long, without an error.
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
  endpoints: Pick<Endpoints, 'clearSequences' | 'lastSequence' | 'lowerSequences'>;
  revisions: Pick<Revisions, 'changed'>;
}

/** Called before EVENTS is created again, so that its first events are later than every stored sequence. */
export async function forgetMissingStream({
  bus,
  store,
  endpoints,
  revisions,
}: StreamResetOptions): Promise<void> {
  const isThere = async (): Promise<boolean> => (await bus.messagesIn(eventsStream)) !== undefined;
  if (await bus.patiently(`stream ${eventsStream}`, isThere)) return;
  if ((await streamsOf(store).findOne({ _id: eventsStream })) === null) return;
  for (const integration of await endpoints.clearSequences(new Date())) await revisions.changed(integration);
}

/** Called before EVENTS is read. May be repeated or cut off without harm. */
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
    for (const integration of await endpoints.clearSequences(madeAt)) await revisions.changed(integration);
  }
  await streams.updateOne({ _id: eventsStream }, { $set: { madeAt } }, { upsert: true });
}

/** Called at the start of a process, as EVENTS may have been restored from an older copy. */
export async function lowerSequences({ bus, endpoints, revisions }: StreamResetOptions): Promise<void> {
  // Read before the end of EVENTS, which only grows: a sequence beyond that end was never in the stream.
  const lastStored = await endpoints.lastSequence();
  const { lastSequence } = await factsOf(bus);
  if (lastStored <= lastSequence) return;
  for (const integration of await endpoints.lowerSequences(lastSequence))
    await revisions.changed(integration);
}

const streamsOf = (store: Store) => store.collection<KnownStream>('webhook_streams');

const factsOf = (bus: StreamResetOptions['bus']): Promise<StreamFacts> =>
  bus.patiently(`stream ${eventsStream}`, () => bus.streamFacts(eventsStream));
