// Corrects the sequences of EVENTS that endpoints store, after the stream was created again or restored from an older copy. A
// stream that is created again counts from one, and an older copy ends before some stored sequences. An endpoint with a stored
// sequence beyond the end of the stream would get no events for long, without an error.
import { eventsStream } from '@integration-sync/contracts';
import type { Bus } from '@integration-sync/runtime/bus';
import type { Log } from '@integration-sync/runtime/log';
import type { Store } from '@integration-sync/runtime/store';
import { findRestore, type NewestMessage } from '../log/restores.ts';
import { streamsCollection } from '../log/known-restores.ts';
import type { Endpoints, Revisions } from './endpoint-store.ts';

interface KnownStream {
  _id: string;
  madeAt: Date;
  /** The newest message of EVENTS that a replica knew before it stored a sequence. Release 1.1.0 stores no such message. */
  newest?: NewestMessage;
}

interface StreamResetOptions {
  bus: Pick<Bus, 'messagesIn' | 'patiently' | 'streamFacts' | 'storedAt' | 'readStream' | 'reconnects'>;
  store: Store;
  endpoints: Pick<Endpoints, 'lastSequence' | 'lowerSequences'>;
  revisions: Pick<Revisions, 'changed'>;
  log: Log;
}

export type StreamReset = ReturnType<typeof openStreamReset>;

export function openStreamReset({ bus, store, endpoints, revisions, log }: StreamResetOptions) {
  const streams = store.collection<KnownStream>(streamsCollection);
  /** The value of `bus.reconnects` at the last search for a restore. While it is unchanged, nats-server has not restarted. */
  let comparedAt = -1;
  const ask = <T>(question: () => Promise<T>): Promise<T> =>
    bus.patiently(`stream ${eventsStream}`, question);
  const facts = () => ask(() => bus.streamFacts(eventsStream));
  const renew = async (integrations: readonly string[]): Promise<void> => {
    for (const integration of integrations) await revisions.changed(integration);
  };

  return {
    /** Called before EVENTS is created again, so that its first events come after every stored sequence. */
    async forgetMissing(): Promise<void> {
      if (await ask(async () => (await bus.messagesIn(eventsStream)) !== undefined)) return;
      if ((await streams.findOne({ _id: eventsStream })) === null) return;
      await renew(await endpoints.lowerSequences(0, {}));
    },
    /** Called before EVENTS is read, in case it was created again. May be repeated or aborted without harm. */
    async forgetOther(): Promise<void> {
      const { madeAt } = await facts();
      const known = await streams.findOne({ _id: eventsStream });
      if (known?.madeAt.getTime() === madeAt.getTime()) return;
      // Only endpoints that are older than the stream have sequences of the former stream.
      if (known !== null) await renew(await endpoints.lowerSequences(0, { createdAt: { $lt: madeAt } }));
      const update = { $set: { madeAt }, $unset: { newest: 1 as const } };
      await streams.updateOne({ _id: eventsStream }, update, { upsert: true });
    },
    /** Notes the newest message before a sequence is stored: as long as EVENTS has this message, stored sequences are valid. */
    async willStore(newest: NewestMessage): Promise<void> {
      const isOlder = { _id: eventsStream, 'newest.sequence': { $not: { $gte: newest.sequence } } };
      await streams.updateOne(isOlder, { $set: { newest } });
    },
    /** Lowers stored sequences if EVENTS was restored from an older copy. Called at the start and after each reconnect. */
    async lower(): Promise<void> {
      const { reconnects } = bus;
      if (reconnects === comparedAt) return;
      const newest = (await streams.findOne({ _id: eventsStream }))?.newest;
      const restore =
        newest === undefined
          ? undefined
          : await ask(() => findRestore(bus, eventsStream, 'events.>', newest));
      if (restore !== undefined) {
        const { through } = restore;
        log.error(
          { stream: eventsStream, lostFrom: through + 1, lostThrough: newest?.sequence },
          'NATS was restored from an older copy: the events from lostFrom to lostThrough are lost',
        );
        await renew(await endpoints.lowerSequences(through));
        await streams.updateOne(
          { _id: eventsStream, 'newest.sequence': newest?.sequence ?? 0 },
          { $unset: { newest: 1 } },
        );
      }
      // The end of EVENTS only grows, so it is read after the stored sequences: a sequence beyond the end names a lost event.
      const lastStored = await endpoints.lastSequence();
      const { lastSequence } = await facts();
      if (lastStored > lastSequence) await renew(await endpoints.lowerSequences(lastSequence));
      comparedAt = reconnects;
    },
  };
}
