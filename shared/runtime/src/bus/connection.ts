// One connection to NATS that waits for the server, never gives up, and knows at every moment whether it is up. A request that waits
// for its answer when the connection drops fails at once, and does not time out (line.ts).
import { jetstream, jetstreamManager, type JetStreamClient, type JetStreamManager } from '@nats-io/jetstream';
import { PermissionViolationError, type Msg, type NatsConnection } from '@nats-io/nats-core';
import { parseNatsServers, type NatsOptions } from '../config/index.ts';
import type { Log } from '../log.ts';
import type { Tracing } from '../tracing/index.ts';
import { Disconnected, openAbsences, openLine, type Absences, type Line } from './line.ts';
import { connectPatiently } from './connect.ts';
import { openInbox, type Inbox } from './inbox.ts';
import { openLeaving, type Leaver } from './leaving.ts';

/** A leader that died with a question is asked again, as another one may have taken its place. */
const apiTimeoutMs = 3_000;
const defaultPayloadBytes = 1_048_576;

type LineOfConnection = Pick<Line, 'connected' | 'untilConnected' | 'whileConnected' | 'onReconnect'>;

export interface Connection extends LineOfConnection, AsyncDisposable {
  readonly nats: NatsConnection;
  readonly stream: JetStreamClient;
  readonly manager: JetStreamManager;
  readonly inbox: Inbox;
  readonly absences: Absences;
  readonly log: Log;
  readonly tracing: Tracing | undefined;
  /** This process does nothing more where nats-server refuses it something (`onForbidden`). */
  readonly endsWhereForbidden: boolean;
  /** What the server takes as one message. */
  readonly maxPayloadBytes: number;
  /** Until disposed of. Where nats-server refuses the subject, `onForbidden` or a line in the log says so. */
  listen(subject: string, onMessage: (message: Msg) => void): Disposable;
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
  const { log, tracing, onForbidden } = options;
  const inboxPrefix = inboxPrefixOf(options.name);
  const { nats, waits } = await connectPatiently({ ...options, inboxPrefix });
  const asking = { ...options.jetstream, checkAPI: false, timeout: apiTimeoutMs };
  const manager = await jetstreamManager(nats, asking);
  const inbox = openInbox(nats, inboxPrefix);
  const line = openLine(() => nats.isClosed());
  const hasOthers = otherServers(nats, options.url);
  const leaving = openLeaving({ nats, inbox, line, hasOthers, log });

  watchStatus(nats, log, {
    lost() {
      waits.begin();
      line.drop();
      inbox.fail(new Disconnected());
    },
    back() {
      waits.end();
      leaving.arrived();
      line.restore();
    },
    aboutToEnd: () => leaving.begin(),
    forbidden(error) {
      const { operation, subject } = error;
      inbox.fail(error, subject);
      if (onForbidden === undefined) log.warn({ err: error }, reportedError);
      else onForbidden({ operation: operation === 'publish' ? 'publish' : 'subscribe', subject });
    },
  }).catch((error: unknown) => log.error({ err: error }, 'nats status watch ended'));

  return {
    nats,
    stream: jetstream(nats, { ...options.jetstream }),
    manager,
    inbox,
    absences: openAbsences(),
    log,
    tracing,
    endsWhereForbidden: onForbidden !== undefined,
    get connected() {
      return line.connected;
    },
    untilConnected: () => line.untilConnected(),
    whileConnected: (work) => line.whileConnected(work),
    onReconnect: (then) => line.onReconnect(then),
    get maxPayloadBytes() {
      return nats.info?.max_payload ?? defaultPayloadBytes;
    },
    listen: (subject, onMessage) => listen(nats, subject, onMessage),
    onLeaving: (leaver) => leaving.use(leaver),
    async [Symbol.asyncDispose]() {
      leaving[Symbol.dispose]();
      waits.end();
      // Draining needs the server; without one, or where it goes meanwhile, there is no server left to tell.
      if (line.connected) await nats.drain().catch(() => undefined);
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
