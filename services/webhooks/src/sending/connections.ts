// Connections to receivers, kept alive between deliveries. Each set of them leads to one origin at one checked address,
// whatever the name resolves to later; through an egress proxy, it is the proxy that connects to the address.
//
// A set opens as many connections as its lanes ask for (lanes.ts bounds them), so that a request never waits behind
// another endpoint's hanging one. A set that was not used for a minute is closed.
//
// A kept connection is not used for as long as its receiver might keep it, because a request that goes out while the
// receiver closes it is lost: for two seconds less than its `Keep-Alive: timeout=` says, for a second where it says
// nothing, and never after ten. Before a kept connection is used, the HTTP client reads what has arrived on it, so one
// that the receiver has closed by then is passed over.
import type { CheckedTarget } from './egress-guard.ts';
import { openDispatchers, type ConnectionsOptions, type MadeDispatcher } from './dispatchers.ts';

export interface Connections extends AsyncDisposable {
  /** The checked addresses, those last to which no connection could be made of late. */
  inOrder(target: CheckedTarget): readonly string[];
  to(target: CheckedTarget, address: string): ConnectionSet;
  /** Whether this is why no connection could be made, so that nothing was sent. */
  isOfConnecting(error: unknown): boolean;
}

export interface ConnectionSet extends MadeDispatcher {
  /** Set by the sender: no connection could be made. */
  isDown: boolean;
}

interface Entry extends ConnectionSet {
  usedAt: number;
}

const idleMs = 60_000;

export interface KeptConnectionsOptions extends ConnectionsOptions {
  /** Sets that are kept; where there are more, the one that was not used for longest is closed. */
  setsMax?: number;
}

export function openConnections({ setsMax = 2_000, ...options }: KeptConnectionsOptions = {}): Connections {
  const dispatchers = openDispatchers(options);
  /** In the order of their last use. */
  const entries = new Map<string, Entry>();

  const close = (key: string, { dispatcher }: Entry): void => {
    entries.delete(key);
    // What is still in flight on it may end.
    dispatcher.close().catch(() => undefined);
  };

  const closeLeastUsed = (): void => {
    const [first] = entries;
    if (first !== undefined) close(...first);
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
        entries.delete(key);
        entries.set(key, found);
        return found;
      }
      if (entries.size >= setsMax) closeLeastUsed();
      const made = { ...dispatchers.make(target, address), isDown: false, usedAt: performance.now() };
      entries.set(key, made);
      return made;
    },
    isOfConnecting: (error) => dispatchers.isOfConnecting(error),
    async [Symbol.asyncDispose]() {
      clearInterval(sweep);
      await Promise.all([...entries.values()].map(({ dispatcher }) => dispatcher.destroy()));
    },
  };
}

const keyOf = ({ origin }: CheckedTarget, address: string): string => `${origin} ${address}`;
