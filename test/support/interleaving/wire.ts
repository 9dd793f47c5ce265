// NATS as two replicas of webhooks see it, in memory: streams, and broadcasts that arrive when a test lets them arrive. A replica
// may be cut off.
import { eventBatchesStream, eventsStream, partitionOf } from '@integration-sync/contracts';
import type {
  Broadcast,
  Bus,
  FollowedMessage,
  FollowOptions,
  OutgoingMessage,
  StoredMessage,
} from '@integration-sync/runtime/bus';

interface Listener {
  subject: string;
  link: Link;
  onMessage: (message: Broadcast) => void;
  onMissed: () => void;
}

/** The connection of one replica. */
export interface Link {
  readonly name: string;
  isCut: boolean;
  /** How often the connection came back. */
  reconnects: number;
}

/** A broadcast that has not arrived yet. */
export interface Underway {
  to: Link;
  subject: string;
  arrive: () => void;
}

const beats = 'webhooks.replica.';
const madeAt = new Date('2026-01-01T00:00:00Z');

export class Wire {
  readonly underway: Underway[] = [];
  readonly #streams = new Map<string, StoredMessage[]>();
  readonly #listeners = new Set<Listener>();
  readonly #readers = new Set<() => void>();

  messages(stream: string): StoredMessage[] {
    return this.#streams.getOrInsertComputed(stream, () => []);
  }

  heal(link: Link): void {
    link.isCut = false;
    link.reconnects += 1;
    for (const one of this.#listeners) if (one.link === link) one.onMissed();
    this.#poke();
  }

  broadcast(from: Link, subject: string, body: Uint8Array | string, headers: Record<string, string>): void {
    if (from.isCut) return;
    const message: Broadcast = {
      subject,
      body: Buffer.from(body),
      headers: new Map(Object.entries(headers)),
    };
    for (const one of this.#listeners) {
      if (one.subject !== subject) continue;
      const arrive = (): void => {
        if (!one.link.isCut && this.#listeners.has(one)) one.onMessage(message);
      };
      if (one.link === from || subject.startsWith(beats)) arrive();
      else this.underway.push({ to: one.link, subject, arrive });
    }
  }

  publish(messages: readonly OutgoingMessage[]) {
    const places = messages.map(({ subject, id, body }) => {
      const [stream, stored] = storedAs(subject);
      const all = this.messages(stream);
      const known = id === '' ? undefined : all.find((one) => one.id === id);
      if (known !== undefined) return { sequence: known.sequence, duplicate: true };
      const sequence = all.length + 1;
      all.push({ subject: stored, id, body: Buffer.from(body), sequence, storedAt: new Date() });
      return { sequence, duplicate: false };
    });
    this.#poke();
    return places;
  }

  /** The part of the bus that webhooks uses. */
  busOf(link: Link): Bus {
    const connected = async (): Promise<void> => {
      if (link.isCut) throw new Error('no connection to NATS');
    };
    const facts = async (stream: string) => {
      await connected();
      const messages = this.messages(stream);
      const lastAt = messages.at(-1)?.storedAt ?? new Date(0);
      return { madeAt, firstSequence: 1, lastSequence: messages.length, lastAt };
    };
    const bus = {
      get reconnects() {
        return link.reconnects;
      },
      storedAt: async (stream: string, sequence: number) => {
        await connected();
        return this.messages(stream)[sequence - 1]?.storedAt;
      },
      broadcast: (subject: string, body: Uint8Array | string, headers: Record<string, string> = {}) =>
        this.broadcast(link, subject, body, headers),
      listen: (
        subject: string,
        onMessage: Listener['onMessage'],
        onMissed: Listener['onMissed'] = () => undefined,
      ) => {
        const one = { subject, link, onMessage, onMissed };
        this.#listeners.add(one);
        return { [Symbol.dispose]: () => void this.#listeners.delete(one) };
      },
      patiently: <T>(_what: string, work: () => Promise<T>) => work(),
      streamFacts: facts,
      hasAfter: async (stream: string, subject: string, sequence: number) => {
        await connected();
        return this.messages(stream).some((one) => one.sequence > sequence && matches(subject, one.subject));
      },
      readStream: (stream: string, { subject, from }: { subject: string; from: { sequence?: number } }) =>
        readAll(connected, this.messages(stream), subject, from.sequence ?? 0),
      publishBatch: async (messages: readonly OutgoingMessage[]) => {
        await connected();
        return this.publish(messages);
      },
      follow: (stream: string, options: FollowOptions) => this.#follow(link, stream, options),
      async purge() {},
    };
    return bus as unknown as Bus;
  }

  #poke(): void {
    for (const read of this.#readers) read();
  }

  #follow(link: Link, stream: string, options: FollowOptions) {
    const { isMeant, from } = options;
    let next: number | undefined;
    const reading = { isStopped: false };
    let taking: void | Promise<void>;
    let isReading = false;
    const isNext = (one: FollowedMessage): boolean => one.sequence >= (next ?? 0) && isMeant(one.subject);
    const readOn = async (): Promise<void> => {
      if (isReading) return;
      isReading = true;
      try {
        next ??= await from();
        while (!reading.isStopped && !link.isCut) {
          const message = this.messages(stream).find(isNext);
          if (message === undefined) break;
          next = message.sequence + 1;
          taking = options.onMessage(message);
          await taking;
        }
      } catch {
        setTimeout(read, 250);
      } finally {
        isReading = false;
      }
    };
    const read = (): void => void readOn();
    this.#readers.add(read);
    read();
    return {
      failingForMs: 0,
      [Symbol.asyncDispose]: async () => {
        reading.isStopped = true;
        this.#readers.delete(read);
        await taking;
      },
    };
  }
}

async function* readAll(
  connected: () => Promise<void>,
  messages: readonly StoredMessage[],
  subject: string,
  first: number,
): AsyncGenerator<StoredMessage> {
  await connected();
  for (const one of messages.slice()) if (one.sequence >= first && matches(subject, one.subject)) yield one;
}

function storedAs(subject: string): [stream: string, subject: string] {
  const [noun, announcer, integration = ''] = subject.split('.');
  if (noun === 'events') return [eventsStream, subject];
  if (noun !== 'event-batches') return ['ATTEMPTS', subject];
  return [eventBatchesStream, `${noun}.${partitionOf(integration)}.${announcer}.${integration}`];
}

function matches(filter: string, subject: string): boolean {
  const parts = subject.split('.');
  return filter.split('.').every((part, at) => part === '>' || part === '*' || part === parts[at]);
}
