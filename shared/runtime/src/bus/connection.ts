// One connection to NATS, which reconnects without a limit and knows whether it is up (connectivity.ts).
import { jetstreamManager } from '@nats-io/jetstream';
import { PermissionViolationError, type Msg, type NatsConnection } from '@nats-io/nats-core';
import { parseNatsServers, type NatsOptions } from '../config/index.ts';
import type { Log } from '../log.ts';
import type { Tracing } from '../tracing/index.ts';
import { Disconnected, openAbsences, openConnectivity } from './connectivity.ts';
import { connectPatiently } from './connect.ts';
import { openInbox } from './inbox.ts';
import { openLameDuck, type Leaver } from './lame-duck.ts';
import { isRenewed, subscribeLasting } from './lasting.ts';

/** How long a request to the JetStream API waits for the leader, which may have died; a retry reaches the next leader. */
const apiTimeoutMs = 3_000;
/** For a list, nats-server waits 4 s for the leaders of all streams, and then leaves out streams without a leader. */
const listTimeoutMs = 5_000;
const defaultPayloadBytes = 1_048_576;

export type Connection = Awaited<ReturnType<typeof openConnection>>;

export interface ConnectionOptions extends NatsOptions {
  /** The name of the connection in nats-server's list of connections. */
  name: string;
  log: Log;
  /** Makes a span for each request that is answered, and for each sent request with a `traceparent`. */
  tracing?: Tracing | undefined;
  /** Aborts the wait for the first connection. */
  signal?: AbortSignal | undefined;
  /** Called when nats-server refuses this process a subject. Without this function, the refusal is logged. */
  onForbidden?: ((forbidden: Forbidden) => void) | undefined;
}

/** A permission that the login of this process lacks. */
export interface Forbidden {
  operation: 'publish' | 'subscribe';
  subject: string;
}

export async function openConnection(options: ConnectionOptions) {
  const { log, tracing, onForbidden } = options;
  // Each service has its own inbox prefix, so that NATS permissions keep other services from reading its answers.
  const inboxPrefix = `_INBOX_${options.name}`;
  const { nats, waits } = await connectPatiently({ ...options, inboxPrefix });
  const asking = { ...options.jetstream, checkAPI: false };
  const manager = await jetstreamManager(nats, { ...asking, timeout: apiTimeoutMs });
  const inbox = openInbox(nats, inboxPrefix);
  const connectivity = openConnectivity(() => nats.isClosed());
  const hasOthers = otherServers(nats, options.url);
  const lameDuck = openLameDuck({ nats, inbox, connectivity, hasOthers, log });

  const tellForbidden = onForbidden ?? logForbidden(log);
  watchStatus(nats, log, {
    lost() {
      waits.begin();
      connectivity.drop();
      inbox.fail(new Disconnected());
    },
    back() {
      waits.end();
      inbox.arrived();
      lameDuck.arrived();
      connectivity.restore();
    },
    aboutToEnd: () => lameDuck.begin(),
    forbidden(error) {
      const { operation, subject } = error;
      inbox.fail(error, subject);
      if (operation === 'subscription' && isRenewed(nats, subject)) return;
      tellForbidden({ operation: operation === 'publish' ? 'publish' : 'subscribe', subject });
    },
  }).catch((error: unknown) =>
    log.error({ err: error }, 'this process no longer notices when the NATS connection is lost or back'),
  );

  return {
    nats,
    manager,
    lister: await jetstreamManager(nats, { ...asking, timeout: listTimeoutMs }),
    inbox,
    absences: openAbsences(),
    log,
    tracing,
    /** Whether a missing permission ends this process (`onForbidden`). */
    endsWhereForbidden: onForbidden !== undefined,
    /** Notes that this login may not publish to a subject, because its account does not import the subject. */
    lacks: (subject: string) => tellForbidden({ operation: 'publish', subject }),
    get connected(): boolean {
      return connectivity.connected;
    },
    untilConnected: connectivity.untilConnected,
    whileConnected: <T>(work: () => Promise<T>) => connectivity.whileConnected(work),
    onReconnect: (then: () => void) => connectivity.onReconnect(then),
    /** The server's limit for one message, headers included. */
    get maxPayloadBytes(): number {
      return nats.info?.max_payload ?? defaultPayloadBytes;
    },
    /** Subscribes until disposed of. If nats-server refuses the subject, `onForbidden` is called or the log says so. */
    listen(subject: string, onMessage: (message: Msg) => void, onMissed?: () => void): Disposable {
      const callback = (error: Error | null, message: Msg): void => {
        if (error === null) onMessage(message);
      };
      return subscribeLasting(nats, subject, { callback, onMissed });
    },
    /** Registers a hook that runs in lame duck mode, before the client moves to another server (lame-duck.ts). */
    onLeaving: (leaver: Leaver) => lameDuck.use(leaver),
    async [Symbol.asyncDispose](): Promise<void> {
      lameDuck[Symbol.dispose]();
      waits.end();
      // Draining needs a connection, and the connection may drop meanwhile.
      if (connectivity.connected) await nats.drain().catch(() => undefined);
      await nats.close();
      inbox.fail(new Disconnected());
      inbox[Symbol.dispose]();
    },
  };
}

const logForbidden =
  (log: Log) =>
  (forbidden: Forbidden): void =>
    log.warn(
      { setting: 'NATS_URL', ...forbidden },
      'Permissions Violation: this login may not use the subject',
    );

/** Whether the cluster has another server, by NATS_URL or by the INFO of the connected server. */
function otherServers(nats: NatsConnection, url: string): () => boolean {
  const isOneOfSeveral = (parseNatsServers(url)?.servers.length ?? 0) > 1;
  return () => isOneOfSeveral || (nats.info?.connect_urls?.length ?? 0) > 0;
}

/** `aboutToEnd` is called when nats-server enters lame duck mode, `forbidden` when the login lacks a permission for a subject. */
type StatusHandlers = Record<'lost' | 'back' | 'aboutToEnd', () => void> & {
  forbidden: (error: PermissionViolationError) => void;
};

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
      else log.warn({ err: status.error }, 'nats server reported an error');
    }
  }
}
