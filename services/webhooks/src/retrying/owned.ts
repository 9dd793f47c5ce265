// One endpoint that this replica owns: what has happened since its owner looked after it last, and the owner's naps.

export interface OwnedEndpoint {
  /** The endpoint has changed since the owner read it. */
  changed: boolean;
  /** A replica has held something for it since the owner looked after it last. */
  more: boolean;
  nap: { forMore: boolean; end(): void } | undefined;
  /** What is not due yet, and since when the owner waits for it, by a clock that cannot be set. */
  waiting: Map<string, number>;
  done: Promise<void>;
}

/** How long an owner takes at most to notice a change that no replica announced to it. */
const napMs = 5_000;

export const newOwned = (): OwnedEndpoint => ({
  changed: false,
  more: false,
  nap: undefined,
  waiting: new Map(),
  done: Promise.resolve(),
});

export interface Nap {
  ms: number;
  /** Ends as well when a replica holds something more for the endpoint. */
  forMore: boolean;
  /** The process stops. */
  closing: AbortSignal;
}

/** Ends before its time when the endpoint changes or the process stops. */
export async function nap(owned: OwnedEndpoint, { ms, forMore, closing }: Nap): Promise<void> {
  if (owned.changed || (forMore && owned.more) || closing.aborted || ms <= 0) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  owned.nap = { forMore, end: resolve };
  const timer = setTimeout(resolve, Math.min(ms, napMs));
  await promise;
  clearTimeout(timer);
  owned.nap = undefined;
}

/** The endpoint has changed, if this replica owns it. */
export function wake(owned: OwnedEndpoint | undefined): void {
  if (owned === undefined) return;
  owned.changed = true;
  owned.nap?.end();
}
