// Connections to receivers, kept alive between deliveries. Each set of them leads to one origin at one checked
// address, whatever the name resolves to later; through an egress proxy it is the proxy that is told the address.
//
// A set opens as many connections as its lanes ask for (lanes.ts bounds them), so that a request never waits
// behind another endpoint's hanging one. What was not used for a minute is closed.
import { buildConnector, Pool, ProxyAgent, type Dispatcher } from 'undici';
import type { CheckedTarget } from './guard.ts';
import { ProxyAway } from './outcome.ts';

export interface Connections extends AsyncDisposable {
  /** One is being opened in this very moment: what begins now is the first to go out on it. */
  readonly opening: boolean;
  to(target: CheckedTarget): { dispatcher: Dispatcher; origin: string };
}

export interface ConnectionsOptions {
  proxyUrl?: string | undefined;
  /** Makes the sockets; tests put in one that connects nowhere. */
  connector?: buildConnector.connector | undefined;
  /** The certificates to trust, instead of the well-known ones. */
  ca?: string | undefined;
}

interface Entry {
  dispatcher: Dispatcher;
  origin: string;
  usedAt: number;
}

const idleMs = 60_000;
const setsMax = 2_000;
const options = {
  pipelining: 1,
  keepAliveTimeout: 4_000,
  keepAliveMaxTimeout: 60_000,
  // The attempt's own deadline is the only one: see post.ts.
  headersTimeout: 0,
  bodyTimeout: 0,
  maxHeaderSize: 16 * 1024,
  allowH2: false,
} as const;
const connectTimeoutMs = 10_000;
/** Well before an attempt is over, or a proxy whose machine is gone would look like a receiver that is silent. */
const proxyConnectTimeoutMs = 4_000;

export function openConnections({ proxyUrl, connector, ca }: ConnectionsOptions = {}): Connections {
  const tls = { allowH2: false, timeout: connectTimeoutMs, ...(ca === undefined ? {} : { ca }) };
  const connect = connector ?? buildConnector(tls);
  const entries = new Map<string, Entry>();
  let opening = false;

  /** The client begins with what waited for a connection in the same breath in which it says that there is one. */
  const watched = (pool: Pool): Pool =>
    pool.on('connect', () => {
      opening = true;
      queueMicrotask(() => (opening = false));
    });

  const make = (target: CheckedTarget): Entry => {
    const { address, host, isLiteral, port, secure } = target;
    const servername = isLiteral ? {} : { servername: host };
    const usedAt = performance.now();
    if (proxyUrl !== undefined) {
      const origin = `${secure ? 'https' : 'http'}://${address.includes(':') ? `[${address}]` : address}:${port}`;
      const requestTls = secure ? { ...tls, ...servername } : {};
      return {
        dispatcher: new ProxyAgent({
          ...options,
          uri: proxyUrl,
          proxyTunnel: true,
          requestTls,
          clientFactory: toProxy,
          factory: (to, pooling) => watched(new Pool(to, pooling)),
        }),
        origin,
        usedAt,
      };
    }
    const pinned: buildConnector.connector = (asked, callback) => {
      connect({ ...asked, hostname: address, host: address, ...servername }, callback);
    };
    return {
      dispatcher: watched(new Pool(target.origin, { ...options, connect: pinned })),
      origin: target.origin,
      usedAt,
    };
  };

  const close = (key: string, { dispatcher }: Entry): void => {
    entries.delete(key);
    // What is still in flight on it may end.
    dispatcher.close().catch(() => undefined);
  };

  const closeLeastUsed = (): void => {
    const [first, ...others] = entries;
    if (first === undefined) return;
    close(...others.reduce((least, one) => (one[1].usedAt < least[1].usedAt ? one : least), first));
  };

  const sweep = setInterval(() => {
    const before = performance.now() - idleMs;
    for (const [key, entry] of entries) if (entry.usedAt < before) close(key, entry);
  }, idleMs / 4);
  sweep.unref();

  return {
    get opening() {
      return opening;
    },
    to(target) {
      const key = `${target.origin} ${target.address}`;
      const found = entries.get(key);
      if (found !== undefined) {
        found.usedAt = performance.now();
        return found;
      }
      if (entries.size >= setsMax) closeLeastUsed();
      const made = make(target);
      entries.set(key, made);
      return made;
    },
    async [Symbol.asyncDispose]() {
      clearInterval(sweep);
      await Promise.all([...entries.values()].map(({ dispatcher }) => dispatcher.destroy()));
    },
  };
}

/** Tells apart that the proxy is away and that a receiver is. */
const toProxy: NonNullable<ProxyAgent.Options['clientFactory']> = (origin) => {
  const connect = buildConnector({ timeout: proxyConnectTimeoutMs });
  return new Pool(origin, {
    // A proxy that does not answer must not keep the connection of an attempt that is long over.
    headersTimeout: connectTimeoutMs,
    connect(asked, callback) {
      connect(asked, (...[error, socket]) => {
        if (error === null) callback(null, socket);
        else callback(new ProxyAway(error.message, { cause: error }), null);
      });
    },
  });
};
