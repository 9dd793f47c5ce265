// Connections to receivers, kept alive between deliveries. Each set of them leads to one origin at one checked
// address, whatever the name resolves to later; through an egress proxy it is the proxy that is told the address.
//
// A set opens as many connections as its lanes ask for (lanes.ts bounds them), so that a request never waits
// behind another endpoint's hanging one. A set that was not used for a minute is closed.
//
// A kept connection is not used for as long as its receiver might keep it, because a request that goes out while the
// receiver closes it is lost: for two seconds less than its `Keep-Alive: timeout=` says, for a second where it says
// nothing, and never after ten. Before a kept connection is used, the HTTP client reads what has arrived on it, so one
// that the receiver has closed by then is passed over.
import { buildConnector, Pool, ProxyAgent, type Dispatcher } from 'undici';
import type { CheckedTarget } from './egress-guard.ts';
import { ProxyAway } from './outcome.ts';

export interface Connections extends AsyncDisposable {
  /** The checked addresses, those last to which no connection could be made of late. */
  inOrder(target: CheckedTarget): readonly string[];
  to(target: CheckedTarget, address: string): ConnectionSet;
  /** Whether this is why no connection could be made, so that nothing was sent. */
  isOfConnecting(error: unknown): boolean;
}

export interface ConnectionSet {
  readonly dispatcher: Dispatcher;
  readonly origin: string;
  /** Set by the sender: no connection could be made. */
  isDown: boolean;
}

export interface ConnectionsOptions {
  proxyUrl?: string | undefined;
  /** Makes the sockets; tests put in one that connects nowhere. */
  connector?: buildConnector.connector | undefined;
  /** The certificates to trust, instead of the well-known ones. */
  ca?: string | undefined;
}

interface Entry extends ConnectionSet {
  usedAt: number;
}

const idleMs = 60_000;
const setsMax = 2_000;
const options = {
  pipelining: 1,
  keepAliveTimeout: 1_000,
  keepAliveTimeoutThreshold: 2_000,
  keepAliveMaxTimeout: 10_000,
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
  const ofConnecting = new WeakSet<Error>();

  const noting =
    (connecting: buildConnector.connector): buildConnector.connector =>
    (asked, callback) => {
      connecting(asked, (...[error, socket]) => {
        if (error === null) return callback(null, socket);
        ofConnecting.add(error);
        callback(error, null);
      });
    };

  const make = ({ host, isLiteral, origin, port, secure }: CheckedTarget, address: string): Entry => {
    const servername = isLiteral ? {} : { servername: host };
    const usedAt = performance.now();
    if (proxyUrl !== undefined) {
      const requestTls = secure ? { ...tls, ...servername } : {};
      return {
        dispatcher: new ProxyAgent({
          ...options,
          uri: proxyUrl,
          proxyTunnel: true,
          requestTls,
          clientFactory: toProxy,
          factory: (to, { connect: tunnel, ...pooling }: Pool.Options) =>
            new Pool(to, {
              ...pooling,
              ...(typeof tunnel === 'function' ? { connect: noting(tunnel) } : {}),
            }),
        }),
        origin: `${secure ? 'https' : 'http'}://${address.includes(':') ? `[${address}]` : address}:${port}`,
        isDown: false,
        usedAt,
      };
    }
    const pinned: buildConnector.connector = (asked, callback) => {
      connect({ ...asked, hostname: address, host: address, ...servername }, callback);
    };
    return {
      dispatcher: new Pool(origin, { ...options, connect: noting(pinned) }),
      origin,
      isDown: false,
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
    inOrder(target) {
      const { addresses } = target;
      if (addresses.length === 1) return addresses;
      const isDown = (address: string): boolean => entries.get(keyOf(target, address))?.isDown === true;
      return [...addresses.filter((address) => !isDown(address)), ...addresses.filter(isDown)];
    },
    to(target, address) {
      const key = keyOf(target, address);
      const found = entries.get(key);
      if (found !== undefined) {
        found.usedAt = performance.now();
        return found;
      }
      if (entries.size >= setsMax) closeLeastUsed();
      const made = make(target, address);
      entries.set(key, made);
      return made;
    },
    isOfConnecting: (error) => error instanceof Error && ofConnecting.has(error),
    async [Symbol.asyncDispose]() {
      clearInterval(sweep);
      await Promise.all([...entries.values()].map(({ dispatcher }) => dispatcher.destroy()));
    },
  };
}

const keyOf = ({ origin }: CheckedTarget, address: string): string => `${origin} ${address}`;

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
