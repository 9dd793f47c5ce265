// One connection to NATS that waits for the server, never gives up, and knows at every moment whether it is up:
// whatever is waiting for an answer when the line drops is told so at once instead of timing out. What begins while the
// client is on its way to another server of the cluster waits for it (line.ts).
import { setTimeout as wait } from 'node:timers/promises';
import { jetstream, jetstreamManager, type JetStreamClient, type JetStreamManager } from '@nats-io/jetstream';
import { AuthorizationError, PermissionViolationError } from '@nats-io/nats-core';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { ConfigError, parseNatsServers } from '../config/index.ts';
import type { Log } from '../log.ts';
import { openAbsences, type Absences } from './absences.ts';
import { openInbox, type Inbox } from './inbox.ts';
import { openLeaving, type Leaver } from './leaving.ts';
import { Disconnected, openLine } from './line.ts';

const retryMs = 250;
/** A server that stands still is noticed after three of these, so that whoever waits is told within 3 s. */
const pingIntervalMs = 800;
const connectMs = 2_000;
/** A leader that died with a question is asked again, as another one may have taken its place. */
const apiTimeoutMs = 3_000;
const waitingLineMs = 5_000;
const defaultPayloadBytes = 1_048_576;

export interface Connection extends AsyncDisposable {
  readonly nats: NatsConnection;
  readonly stream: JetStreamClient;
  readonly manager: JetStreamManager;
  readonly inbox: Inbox;
  readonly absences: Absences;
  readonly log: Log;
  readonly connected: boolean;
  /** What the server takes as one message. */
  readonly maxPayloadBytes: number;
  /** Whenever the line is up again after it was down. */
  onReconnect(then: () => void): Disposable;
  /** Resolves at once while the line is up; fails as unavailable where it is down for longer than a reconnect takes. */
  untilConnected(): Promise<void>;
  /** Settles as `work` does, or fails as unavailable the moment the line drops. */
  whileConnected<T>(work: () => Promise<T>): Promise<T>;
  /** Called when the server is about to end, before the client goes to another one (leaving.ts). */
  onLeaving(leaver: Leaver): Disposable;
}

export interface ConnectionOptions {
  /** As NATS_URL has it. */
  url: string;
  name: string;
  log: Log;
}

export async function openConnection(options: ConnectionOptions): Promise<Connection> {
  const nats = await connectPatiently(options);
  const manager = await jetstreamManager(nats, { checkAPI: false, timeout: apiTimeoutMs });
  const inbox = openInbox(nats, inboxPrefixOf(options.name));
  const interrupts = new Set<() => void>();
  const reconnected = new Set<() => void>();
  const line = openLine();
  const isOneOfSeveral = (parseNatsServers(options.url)?.servers.length ?? 0) > 1;
  const hasOthers = (): boolean => isOneOfSeveral || (nats.info?.connect_urls?.length ?? 0) > 0;
  const leaving = openLeaving({ nats, inbox, line, hasOthers, log: options.log });

  const watch = async (): Promise<void> => {
    for await (const status of nats.status()) {
      if (status.type === 'disconnect') {
        line.drop();
        options.log.warn({ server: status.server }, 'nats connection lost');
        for (const interrupt of interrupts) interrupt();
        inbox.fail(new Disconnected());
      } else if (status.type === 'reconnect') {
        line.restore();
        options.log.info({ server: status.server }, 'nats connection is back');
        leaving.arrived();
        for (const then of reconnected) then();
      } else if (status.type === 'ldm') {
        leaving.begin();
      } else if (status.type === 'error') {
        options.log.warn({ err: status.error }, 'nats server reported an error');
        // Among others, that this process may not ask for a subject.
        if (status.error instanceof PermissionViolationError) inbox.fail(status.error, status.error.subject);
      }
    }
  };
  watch().catch((error: unknown) => options.log.error({ err: error }, 'nats status watch ended'));

  const isConnected = (): boolean => line.isUp && !nats.isClosed();
  const untilConnected = async (): Promise<void> => {
    await line.untilUp();
    if (nats.isClosed()) throw new Disconnected();
  };

  return {
    nats,
    stream: jetstream(nats),
    manager,
    inbox,
    absences: openAbsences(),
    log: options.log,
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
    untilConnected,
    onLeaving: (leaver) => leaving.use(leaver),
    async whileConnected(work) {
      await untilConnected();
      const lost = Promise.withResolvers<never>();
      const interrupt = (): void => lost.reject(new Disconnected());
      interrupts.add(interrupt);
      try {
        return await Promise.race([work(), lost.promise]);
      } finally {
        interrupts.delete(interrupt);
      }
    },
    async [Symbol.asyncDispose]() {
      leaving[Symbol.dispose]();
      // Draining needs the server; without one, or where it goes meanwhile, there is nobody left to tell.
      if (isConnected()) await nats.drain().catch(() => undefined);
      await nats.close();
      inbox.fail(new Disconnected());
      inbox[Symbol.dispose]();
    },
  };
}

/** One of its own for each service, so that NATS lets no other read its answers. */
const inboxPrefixOf = (name: string): string => `_INBOX_${name}`;

async function connectPatiently({ url, name, log }: ConnectionOptions): Promise<NatsConnection> {
  const addresses = parseNatsServers(url);
  if (addresses === undefined) throw new ConfigError(['NATS_URL: not an address of NATS']);
  const { servers } = addresses;
  let failure: unknown;
  const say = (): void => log.warn({ servers, err: failure }, 'waiting for nats');
  const waiting = setInterval(say, waitingLineMs);
  try {
    for (;;) {
      try {
        return await connect({
          ...addresses,
          name,
          inboxPrefix: inboxPrefixOf(name),
          maxReconnectAttempts: -1,
          // A server may refuse for a while those whom it knows again later.
          ignoreAuthErrorAbort: true,
          reconnectTimeWait: retryMs,
          reconnectJitter: retryMs,
          timeout: connectMs,
          pingInterval: pingIntervalMs,
          maxPingOut: 2,
          noAsyncTraces: true,
        });
      } catch (error) {
        const isFirst = failure === undefined;
        failure = error;
        // A server that is there and refuses us is not about to come up.
        if (isFirst && error instanceof AuthorizationError) say();
      }
      await wait(retryMs * (1 + Math.random()));
    }
  } finally {
    clearInterval(waiting);
  }
}
