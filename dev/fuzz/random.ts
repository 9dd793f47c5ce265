// Repeatable random numbers: the same seed gives the same requests.

export interface Random {
  /** A whole number from 0 up to, but without, `below`. */
  integer(below: number): number;
  chance(probability: number): boolean;
  pick<T>(from: readonly [T, ...T[]]): T;
}

/** Mulberry32: small, quick, and random enough for odd requests. */
export function openRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const integer = (below: number): number => Math.floor(next() * below);
  return {
    integer,
    chance: (probability) => next() < probability,
    pick: (from) => from[integer(from.length)] ?? from[0],
  };
}
