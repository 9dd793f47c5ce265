// Corrects the sequences of EVENTS that endpoints store, after the stream was created again or restored from an older
// copy. A stream that is created again counts from one, and an older copy ends before some stored sequences. An
// endpoint that gets only events after such a sequence would get no events for long, without an error.
import { eventsStream } from '@integration-sync/contracts';
import type { Bus } from '@integration-sync/runtime/bus';
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

export function openStreamReset({ bus, store, endpoints, revisions }: StreamResetOptions) {
  const streams = store.collection<KnownStream>('webhook_streams');
  const ask = <T>(question: () => Promise<T>): Promise<T> =>
    bus.patiently(`stream ${eventsStream}`, question);
  const facts = () => ask(() => bus.streamFacts(eventsStream));
  const renew = async (integrations: readonly string[]): Promise<void> => {
    for (const integration of integrations) await revisions.changed(integration);
  };

  return {
    /** Called before EVENTS is created again, so that its first events are later than every stored sequence. */
    async forgetMissing(): Promise<void> {
      if (await ask(async () => (await bus.messagesIn(eventsStream)) !== undefined)) return;
      if ((await streams.findOne({ _id: eventsStream })) === null) return;
      await renew(await endpoints.clearSequences(new Date()));
    },
    /** Called before EVENTS is read. May be repeated or cut off without harm. */
    async forgetOther(): Promise<void> {
      const { madeAt } = await facts();
      const known = await streams.findOne({ _id: eventsStream });
      if (known?.madeAt.getTime() === madeAt.getTime()) return;
      if (known !== null) await renew(await endpoints.clearSequences(madeAt));
      await streams.updateOne({ _id: eventsStream }, { $set: { madeAt } }, { upsert: true });
    },
    /** Called at the start of a process, because EVENTS may have been restored from an older copy. */
    async lower(): Promise<void> {
      // Read before the end of EVENTS, which only grows: a stored sequence beyond that end is of a lost part of the
      // stream.
      const lastStored = await endpoints.lastSequence();
      const { lastSequence } = await facts();
      if (lastStored > lastSequence) await renew(await endpoints.lowerSequences(lastSequence));
    },
  };
}
