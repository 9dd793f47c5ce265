// Makes the undici dispatcher of one origin at one checked address, directly or through an egress proxy, and remembers
// which errors come from making a connection.
import { buildConnector, Pool, ProxyAgent, type Dispatcher } from 'undici';
import { boundAnswers } from './answer-bounds.ts';
import type { CheckedTarget } from './egress-guard.ts';
import { ProxyAway } from './outcome.ts';

export interface ConnectionsOptions {
  proxyUrl?: string | undefined;
  /** Makes the sockets; tests put in one that connects nowhere. */
  connector?: buildConnector.connector | undefined;
  /** The certificates to trust, instead of the well-known ones. */
  ca?: string | undefined;
}

export interface Dispatchers {
  make(target: CheckedTarget, address: string): MadeDispatcher;
  /** Whether this is why no connection could be made, so that nothing was sent. */
  isOfConnecting(error: unknown): boolean;
}

export interface MadeDispatcher {
  readonly dispatcher: Dispatcher;
  /** What a request names as its origin. */
  readonly origin: string;
}

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

export function openDispatchers({ proxyUrl, connector, ca }: ConnectionsOptions): Dispatchers {
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

  const makeDirect = ({ host, isLiteral, origin }: CheckedTarget, address: string): MadeDispatcher => {
    const pinned: buildConnector.connector = (asked, callback) => {
      connect({ ...asked, hostname: address, host: address, ...servernameOf({ host, isLiteral }) }, callback);
    };
    return { dispatcher: new Pool(origin, { ...options, connect: noting(pinned) }), origin };
  };

  const makeProxied = (uri: string, target: CheckedTarget, address: string): MadeDispatcher => {
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
    make: (target, address) =>
      proxyUrl === undefined ? makeDirect(target, address) : makeProxied(proxyUrl, target, address),
    isOfConnecting: (error) => error instanceof Error && ofConnecting.has(error),
  };
}

/** TLS names no server where the url names an address. */
const servernameOf = ({ host, isLiteral }: Pick<CheckedTarget, 'host' | 'isLiteral'>) =>
  isLiteral ? {} : { servername: host };

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
