// One connection to NATS that waits for the server, never gives up, and knows at every moment whether it is up:
// whatever is waiting for an answer when the line drops is told so at once instead of timing out.
import { Failure } from '@integration-sync/contracts';
import { jetstream, jetstreamManager, type JetStreamClient, type JetStreamManager } from '@nats-io/jetstream';
import { PermissionViolationError, type NatsConnection } from '@nats-io/nats-core';
import type { NatsOptions } from '../config/index.ts';
import type { Log } from '../log.ts';
import type { Tracing } from '../tracing/index.ts';
import { connectPatiently } from './connect.ts';
import { openInbox, type Inbox } from './inbox.ts';

const defaultPayloadBytes = 1_048_576;

export interface Connection extends AsyncDisposable {
  readonly nats: NatsConnection;
  readonly stream: JetStreamClient;
  readonly manager: JetStreamManager;
  readonly inbox: Inbox;
  readonly log: Log;
  readonly tracing: Tracing | undefined;
  readonly connected: boolean;
  /** What the server takes as one message. */
  readonly maxPayloadBytes: number;
  /** Whenever the line is up again after it was down. */
  onReconnect(then: () => void): Disposable;
  /** Settles as `work` does, or fails as unavailable the moment the line drops. */
  whileConnected<T>(work: () => Promise<T>): Promise<T>;
}

export interface ConnectionOptions extends NatsOptions {
  name: string;
  log: Log;
  tracing?: Tracing | undefined;
  signal?: AbortSignal | undefined;
}

export async function openConnection(options: ConnectionOptions): Promise<Connection> {
  const inboxPrefix = inboxPrefixOf(options.name);
  const { nats, waits } = await connectPatiently({ ...options, inboxPrefix });
  const manager = await jetstreamManager(nats, { ...options.jetstream, checkAPI: false });
  const inbox = openInbox(nats, inboxPrefix);
  const interrupts = new Set<() => void>();
  const reconnected = new Set<() => void>();
  let connected = true;

  const watch = async (): Promise<void> => {
    for await (const status of nats.status()) {
      if (status.type === 'disconnect') {
        connected = false;
        options.log.warn({ server: status.server }, 'nats connection lost');
        waits.begin();
        for (const interrupt of interrupts) interrupt();
        inbox.fail(disconnected());
      } else if (status.type === 'reconnect') {
        connected = true;
        waits.end();
        options.log.info({ server: status.server }, 'nats connection is back');
        for (const then of reconnected) then();
      } else if (status.type === 'error') {
        options.log.warn({ err: status.error }, 'nats server reported an error');
        // Among others, that this process may not ask for a subject.
        if (status.error instanceof PermissionViolationError) inbox.fail(status.error, status.error.subject);
      }
    }
  };
  watch().catch((error: unknown) => options.log.error({ err: error }, 'nats status watch ended'));

  const isConnected = (): boolean => connected && !nats.isClosed();

  return {
    nats,
    stream: jetstream(nats, { ...options.jetstream }),
    manager,
    inbox,
    log: options.log,
    tracing: options.tracing,
    get connected() {
      return isConnected();
    },
    get maxPayloadBytes() {
      return nats.info?.max_payload ?? defaultPayloadBytes;
    },
    onReconnect(then) {
      reconnected.add(then);
      return { [Symbol.dispose]: () => void reconnected.delete(then) };
    },
    async whileConnected(work) {
      if (!isConnected()) throw disconnected();
      const lost = Promise.withResolvers<never>();
      const interrupt = (): void => lost.reject(disconnected());
      interrupts.add(interrupt);
      try {
        return await Promise.race([work(), lost.promise]);
      } finally {
        interrupts.delete(interrupt);
      }
    },
    async [Symbol.asyncDispose]() {
      waits.end();
      // Draining needs the server; without one, or where it goes meanwhile, there is nobody left to tell.
      if (isConnected()) await nats.drain().catch(() => undefined);
      await nats.close();
      inbox.fail(disconnected());
      inbox[Symbol.dispose]();
    },
  };
}

/** One of its own for each service, so that NATS lets no other read its answers. */
const inboxPrefixOf = (name: string): string => `_INBOX_${name}`;

export const disconnected = (): Failure =>
  new Failure('unavailable', 'The message bus is away; try again shortly.', { retryAfterSeconds: 1 });
