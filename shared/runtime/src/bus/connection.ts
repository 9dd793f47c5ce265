// One connection to NATS that waits for the server, never gives up, and knows at every moment whether it is up:
// whatever is waiting for an answer when the line drops is told so at once instead of timing out. What begins while the
// client is on its way to another server of the cluster waits for it (line.ts).
import { jetstream, jetstreamManager, type JetStreamClient, type JetStreamManager } from '@nats-io/jetstream';
import { PermissionViolationError, type Msg, type NatsConnection } from '@nats-io/nats-core';
import { parseNatsServers, type NatsOptions } from '../config/index.ts';
import type { Log } from '../log.ts';
import type { Tracing } from '../tracing/index.ts';
import { Disconnected, openAbsences, openLine, type Absences } from './line.ts';
import { connectPatiently } from './connect.ts';
import { openInbox, type Inbox } from './inbox.ts';
import { openLeaving, type Leaver } from './leaving.ts';

/** A leader that died with a question is asked again, as another one may have taken its place. */
const apiTimeoutMs = 3_000;
const defaultPayloadBytes = 1_048_576;

export interface Connection extends AsyncDisposable {
  readonly nats: NatsConnection;
  readonly stream: JetStreamClient;
  readonly manager: JetStreamManager;
  readonly inbox: Inbox;
  readonly absences: Absences;
  readonly log: Log;
  readonly tracing: Tracing | undefined;
  /** This process does nothing more where nats-server refuses it something (`onForbidden`). */
  readonly endsWhereForbidden: boolean;
  readonly connected: boolean;
  /** What the server takes as one message. */
  readonly maxPayloadBytes: number;
  /** Until disposed of. Where nats-server refuses the subject, `onForbidden` or a line in the log says so. */
  listen(subject: string, onMessage: (message: Msg) => void): Disposable;
  /** Whenever the line is up again after it was down. */
  onReconnect(then: () => void): Disposable;
  /** Resolves at once while the line is up; fails as unavailable where it is down for longer than a reconnect takes. */
  untilConnected(): Promise<void>;
  /** Settles as `work` does, or fails as unavailable the moment the line drops. */
  whileConnected<T>(work: () => Promise<T>): Promise<T>;
  /** Called when the server is about to end, before the client goes to another one (leaving.ts). */
  onLeaving(leaver: Leaver): Disposable;
}

export interface ConnectionOptions extends NatsOptions {
  /** Shown in the server's list of connections. */
  name: string;
  log: Log;
  /** Requests that carry a `traceparent`, and those that are answered, are steps of a trace. */
  tracing?: Tracing | undefined;
  /** Ends the wait for a NATS that does not come. */
  signal?: AbortSignal | undefined;
  /** Called where nats-server refuses this process a subject. The log has a line of it otherwise. */
  onForbidden?: ((forbidden: Forbidden) => void) | undefined;
}

/** A permission that the login of this process lacks. */
export interface Forbidden {
  operation: 'publish' | 'subscribe';
  subject: string;
}

export async function openConnection(options: ConnectionOptions): Promise<Connection> {
  const inboxPrefix = inboxPrefixOf(options.name);
  const { nats, waits } = await connectPatiently({ ...options, inboxPrefix });
  const asking = { ...options.jetstream, checkAPI: false, timeout: apiTimeoutMs };
  const manager = await jetstreamManager(nats, asking);
  const inbox = openInbox(nats, inboxPrefix);
  const interrupts = openInterrupts();
  const reconnected = new Set<() => void>();
  const line = openLine();
  const hasOthers = otherServers(nats, options.url);
  const leaving = openLeaving({ nats, inbox, line, hasOthers, log: options.log });

  watchStatus(nats, options.log, {
    lost() {
      line.drop();
      waits.begin();
      interrupts.strike();
      inbox.fail(new Disconnected());
    },
    back() {
      line.restore();
      waits.end();
      leaving.arrived();
      for (const then of reconnected) then();
    },
    aboutToEnd: () => leaving.begin(),
    forbidden(error) {
      inbox.fail(error, error.subject);
      tellForbidden(options, error);
    },
  }).catch((error: unknown) => options.log.error({ err: error }, 'nats status watch ended'));

  const isConnected = (): boolean => line.isUp && !nats.isClosed();
  const untilConnected = async (): Promise<void> => {
    await line.untilUp();
    if (nats.isClosed()) throw new Disconnected();
  };

  return {
    nats,
    stream: jetstream(nats, { ...options.jetstream }),
    manager,
    inbox,
    absences: openAbsences(),
    log: options.log,
    tracing: options.tracing,
    endsWhereForbidden: options.onForbidden !== undefined,
    get connected() {
      return isConnected();
    },
    get maxPayloadBytes() {
      return nats.info?.max_payload ?? defaultPayloadBytes;
    },
    listen: (subject, onMessage) => listen(nats, subject, onMessage),
    onReconnect(then) {
      reconnected.add(then);
      return { [Symbol.dispose]: () => void reconnected.delete(then) };
    },
    untilConnected,
    onLeaving: (leaver) => leaving.use(leaver),
    async whileConnected(work) {
      await untilConnected();
      return interrupts.unlessStruck(work);
    },
    async [Symbol.asyncDispose]() {
      leaving[Symbol.dispose]();
      waits.end();
      // Draining needs the server; without one, or where it goes meanwhile, there is no server left to tell.
      if (isConnected()) await nats.drain().catch(() => undefined);
      await nats.close();
      inbox.fail(new Disconnected());
      inbox[Symbol.dispose]();
    },
  };
}

function listen(nats: NatsConnection, subject: string, onMessage: (message: Msg) => void): Disposable {
  const subscription = nats.subscribe(subject, {
    callback(error, message) {
      if (error === null) onMessage(message);
    },
  });
  return { [Symbol.dispose]: () => subscription.unsubscribe() };
}

/** Whether there is another server to go to, by the settings or by what this one says. */
function otherServers(nats: NatsConnection, url: string): () => boolean {
  const isOneOfSeveral = (parseNatsServers(url)?.servers.length ?? 0) > 1;
  return () => isOneOfSeveral || (nats.info?.connect_urls?.length ?? 0) > 0;
}

function tellForbidden({ onForbidden, log }: ConnectionOptions, error: PermissionViolationError): void {
  const { operation, subject } = error;
  if (onForbidden === undefined) log.warn({ err: error }, reportedError);
  else onForbidden({ operation: operation === 'publish' ? 'publish' : 'subscribe', subject });
}

interface Interrupts {
  /** Fails as unavailable all that is under way. */
  strike(): void;
  unlessStruck<T>(work: () => Promise<T>): Promise<T>;
}

function openInterrupts(): Interrupts {
  const interrupts = new Set<() => void>();
  return {
    strike() {
      for (const interrupt of interrupts) interrupt();
    },
    async unlessStruck(work) {
      const lost = Promise.withResolvers<never>();
      const interrupt = (): void => lost.reject(new Disconnected());
      interrupts.add(interrupt);
      try {
        return await Promise.race([work(), lost.promise]);
      } finally {
        interrupts.delete(interrupt);
      }
    },
  };
}

interface StatusHandlers {
  lost(): void;
  back(): void;
  /** The server says that it will end. */
  aboutToEnd(): void;
  /** This process may not use a subject. */
  forbidden(error: PermissionViolationError): void;
}

const reportedError = 'nats server reported an error';

async function watchStatus(nats: NatsConnection, log: Log, then: StatusHandlers): Promise<void> {
  for await (const status of nats.status()) {
    if (status.type === 'disconnect') {
      log.warn({ server: status.server }, 'nats connection lost');
      then.lost();
    } else if (status.type === 'reconnect') {
      log.info({ server: status.server }, 'nats connection is back');
      then.back();
    } else if (status.type === 'ldm') {
      then.aboutToEnd();
    } else if (status.type === 'error') {
      if (status.error instanceof PermissionViolationError) then.forbidden(status.error);
      else log.warn({ err: status.error }, reportedError);
    }
  }
}

/** One of its own for each service, so that NATS lets no other read its answers. */
const inboxPrefixOf = (name: string): string => `_INBOX_${name}`;
