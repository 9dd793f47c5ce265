// Places that are shared fairly without knowing how many share them: each integration may have up to so many times
// what is still free. One alone gets nearly all of them; the more take part, the fewer each may have. A few are kept
// for those that have none yet, as long as there are any.
//
//   at 10 times of 1,024, 10 kept   one alone   two   ten   thirty
//   ──────────────────────────────  ──────────  ────  ────  ──────
//   each has up to                  921         482   100   33
//   free                            103         60    24    34

export interface Shares {
  readonly taken: number;
  readonly free: number;
  /** What an integration that has some may have now, until others come. */
  readonly share: number;
  of(integration: string): number;
  mayTake(integration: string): boolean;
  /** Unasked, too: what cannot be refused counts all the same. */
  take(integration: string, count?: number): void;
  giveBack(integration: string, count?: number): void;
}

export interface ShareLimits {
  max: number;
  timesFree: number;
  /** For those that have none. */
  kept?: number;
}

export function openShares({ max, timesFree, kept = 0 }: ShareLimits): Shares {
  const takenBy = new Map<string, number>();
  let taken = 0;

  const shares: Shares = {
    get taken() {
      return taken;
    },
    get free() {
      return Math.max(max - taken, 0);
    },
    get share() {
      return Math.max(shares.free - kept, 0) * timesFree;
    },
    of: (integration) => takenBy.get(integration) ?? 0,
    mayTake(integration) {
      const own = shares.of(integration);
      return own === 0 ? shares.free > 0 : own < shares.share;
    },
    take(integration, count = 1) {
      taken += count;
      takenBy.set(integration, shares.of(integration) + count);
    },
    giveBack(integration, count = 1) {
      taken -= count;
      const left = shares.of(integration) - count;
      if (left > 0) takenBy.set(integration, left);
      else takenBy.delete(integration);
    },
  };
  return shares;
}
