// Sets of connections to receivers, kept alive between deliveries. Each set has connections to one origin at one checked address,
// even if the name later resolves to other addresses. An egress proxy, if configured, connects to the address.
//
// A set opens as many connections as there are deliveries in flight, so that a request never waits behind another
// endpoint's hanging request. A set that was not used for a minute is closed.
//
// A request is lost if the receiver closes its kept connection at the moment of sending. So a kept connection is reused for two
// seconds less than the receiver's `Keep-Alive: timeout=`, for one second without that header, and for ten seconds at most. The
// HTTP client reads from a kept connection before it sends, and skips a connection that the receiver has closed.
import { LRUCache } from 'lru-cache';
import { buildConnector, type Dispatcher, Pool, ProxyAgent } from 'undici';
import { boundAnswers } from './answer-bounds.ts';
import type { CheckedTarget } from './egress-guard.ts';
import { ProxyAway } from './attempt-outcome.ts';

export type Connections = ReturnType<typeof openConnections>;

interface ConnectionSet {
  readonly dispatcher: Dispatcher;
  /** The origin of the requests on the connections of a set. */
  readonly origin: string;
  /** Whether the last attempt to connect to the address failed. Set by send.ts. */
  isDown: boolean;
}

const idleMs = 60_000;

interface ConnectionsOptions {
  proxyUrl?: string | undefined;
  /** Makes the sockets; tests give a connector that connects nowhere. */
  connector?: buildConnector.connector | undefined;
  /** The CA certificates to trust instead of the well-known certificates. */
  ca?: string | undefined;
  /** How many sets of connections are kept. Beyond this number, the least recently used set is closed. */
  setsMax?: number;
}

export function openConnections({ setsMax = 2_000, ...options }: ConnectionsOptions = {}) {
  const dispatchers = openDispatchers(options);
  const sets = new LRUCache<string, ConnectionSet>({
    max: setsMax,
    ttl: idleMs,
    ttlResolution: 0,
    updateAgeOnGet: true,
    // A closed set of connections still completes its requests in flight.
    dispose: ({ dispatcher }) => void dispatcher.close().catch(() => undefined),
  });
  const sweep = setInterval(() => sets.purgeStale(), idleMs / 4);
  sweep.unref();

  return {
    /** The checked addresses of a target in the order of use: last come those to which the last connection could not be made. */
    inOrder(target: CheckedTarget): readonly string[] {
      const { addresses } = target;
      if (addresses.length === 1) return addresses;
      const isDown = (address: string): boolean => sets.peek(keyOf(target, address))?.isDown === true;
      return [...addresses.filter((address) => !isDown(address)), ...addresses.filter(isDown)];
    },
    to(target: CheckedTarget, address: string): ConnectionSet {
      const key = keyOf(target, address);
      const found = sets.get(key);
      if (found !== undefined) return found;
      const made = { ...dispatchers.make(target, address), isDown: false };
      sets.set(key, made);
      return made;
    },
    /** Whether the error came while a connection was made, before any byte was sent. */
    isOfConnecting: dispatchers.isOfConnecting,
    async [Symbol.asyncDispose](): Promise<void> {
      clearInterval(sweep);
      await Promise.all(Array.from(sets.values(), ({ dispatcher }) => dispatcher.destroy()));
    },
  };
}

const keyOf = ({ origin }: CheckedTarget, address: string): string => `${origin} ${address}`;

const options = {
  pipelining: 1,
  keepAliveTimeout: 1_000,
  keepAliveTimeoutThreshold: 2_000,
  keepAliveMaxTimeout: 10_000,
  // The HTTP client has no time-outs for answers: the deadline of the attempt (post.ts) ends them.
  headersTimeout: 0,
  bodyTimeout: 0,
  maxHeaderSize: 16 * 1024,
  allowH2: false,
} as const;
const connectTimeoutMs = 10_000;
/** How long connecting to the proxy may take: well below an attempt's deadline, when the receiver would count as silent. */
const proxyConnectTimeoutMs = 4_000;

/** Each dispatcher connects to one origin at one checked address, directly or through an egress proxy. */
function openDispatchers({ proxyUrl, connector, ca }: ConnectionsOptions) {
  const tls = { allowH2: false, timeout: connectTimeoutMs, ...(ca === undefined ? {} : { ca }) };
  const connect = connector ?? buildConnector(tls);
  const ofConnecting = new WeakSet<Error>();

  const noting =
    (connecting: buildConnector.connector): buildConnector.connector =>
    (asked, callback) => {
      connecting(asked, (...[error, socket]) => {
        if (error === null) return callback(null, boundAnswers(socket));
        ofConnecting.add(error);
        callback(error, null);
      });
    };

  const makeDirect = ({ host, isLiteral, origin }: CheckedTarget, address: string) => {
    const pinned: buildConnector.connector = (asked, callback) => {
      connect({ ...asked, hostname: address, host: address, ...servernameOf({ host, isLiteral }) }, callback);
    };
    return { dispatcher: new Pool(origin, { ...options, connect: noting(pinned) }), origin };
  };

  const makeProxied = (uri: string, target: CheckedTarget, address: string) => {
    const { port, secure } = target;
    const host = address.includes(':') ? `[${address}]` : address;
    return {
      dispatcher: new ProxyAgent({
        ...options,
        uri,
        proxyTunnel: true,
        requestTls: secure ? { ...tls, ...servernameOf(target) } : {},
        clientFactory: toProxy,
        factory: (to, { connect: tunnel, ...pooling }: Pool.Options) =>
          new Pool(to, {
            ...pooling,
            ...(typeof tunnel === 'function' ? { connect: noting(tunnel) } : {}),
          }),
      }),
      origin: `${secure ? 'https' : 'http'}://${host}:${port}`,
    };
  };

  return {
    make: (target: CheckedTarget, address: string): Pick<ConnectionSet, 'dispatcher' | 'origin'> =>
      proxyUrl === undefined ? makeDirect(target, address) : makeProxied(proxyUrl, target, address),
    isOfConnecting: (error: unknown) => error instanceof Error && ofConnecting.has(error),
  };
}

/** TLS gets no server name (SNI) if the url has an address as its host. */
const servernameOf = ({ host, isLiteral }: Pick<CheckedTarget, 'host' | 'isLiteral'>) =>
  isLiteral ? {} : { servername: host };

/** Connections to the proxy fail with `ProxyAway`, so that an outage of the proxy is not taken for a silent receiver. */
const toProxy: NonNullable<ProxyAgent.Options['clientFactory']> = (origin) => {
  const connect = buildConnector({ timeout: proxyConnectTimeoutMs });
  return new Pool(origin, {
    // If the proxy does not answer a CONNECT, this time-out closes the connection. The attempt has ended before.
    headersTimeout: connectTimeoutMs,
    connect(asked, callback) {
      connect(asked, (...[error, socket]) => {
        if (error === null) callback(null, socket);
        else callback(new ProxyAway(error.message, { cause: error }), null);
      });
    },
  });
};
