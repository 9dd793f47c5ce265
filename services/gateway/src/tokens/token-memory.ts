// The access tokens that the gateway found good, with what it found, so that a token that comes again costs one look-up.
// A token is good for a minute at most without being verified again, and never beyond its `exp`.
//
// There are two generations. A new token comes into the young one; when that is full, or a minute old, it becomes the old
// one, and the tokens of the old one are forgotten all at once.

/** A minute: a key that its issuer takes out does not serve for longer by being remembered. */
const rememberedMs = 60_000;
/** Of the tokens' characters, and what an entry costs beside them. */
const generationCharactersMax = 4 * 1024 * 1024;
const entryCharacters = 1_024;

export interface TokenMemory<T> {
  find: (token: string, nowMs: number) => T | undefined;
  remember: (token: string, value: T, moment: { nowMs: number; expiresMs: number }) => void;
  /** How many tokens it holds, expired ones among them. */
  readonly size: number;
}

interface Remembered<T> {
  value: T;
  untilMs: number;
}

type Generation<T> = Map<string, Remembered<T>>;

export function openTokenMemory<T>(charactersMax = generationCharactersMax): TokenMemory<T> {
  let young: Generation<T> = new Map();
  let old: Generation<T> = new Map();
  let characters = 0;
  let begunAtMs = -Infinity;

  const begin = (nowMs: number): void => {
    old = young;
    young = new Map();
    characters = 0;
    begunAtMs = nowMs;
  };

  return {
    find(token, nowMs) {
      const remembered = young.get(token) ?? old.get(token);
      return remembered !== undefined && nowMs < remembered.untilMs ? remembered.value : undefined;
    },
    remember(token, value, { nowMs, expiresMs }) {
      const cost = token.length + entryCharacters;
      if (characters + cost > charactersMax || nowMs - begunAtMs > rememberedMs) begin(nowMs);
      young.set(token, { value, untilMs: Math.min(expiresMs, nowMs + rememberedMs) });
      characters += cost;
    },
    get size() {
      return young.size + old.size;
    },
  };
}
