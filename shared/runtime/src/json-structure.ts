// Limits the depth and the amount of structure of a JSON text before parsing, and hides its unknown keys: 5 MiB of brackets or keys
// take a parser fifty times as long as a push of that size, and fifty times their bytes of memory. The grammar is left to the parser.
import { randomInt } from 'node:crypto';
import { Failure, limits, unknownNamedMax } from '@integration-sync/contracts';

const { bodyDepthMax } = limits;

// The bytes that make the structure of JSON outside of its strings, and those that end or escape a string.
const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const colon = 0x3a;
const brace = 0x7b;
const bracket = 0x5b;
const braceEnd = 0x7d;
const bracketEnd = 0x5d;

/** Counts the keys of a text. Throws a `Failure` for a text beyond the limits. */
export function checkStructure(bytes: Uint8Array, structureMax: number): number {
  const { length } = bytes;
  let depth = 0;
  let structure = 0;
  let keys = 0;
  for (let at = 0; at < length; at += 1) {
    const byte = bytes[at];
    if (byte === quote) {
      // This loop over a string is inlined: a function for it would double the time.
      for (at += 1; at < length && bytes[at] !== quote; at += 1) if (bytes[at] === backslash) at += 1;
    } else if (byte === comma) {
      structure += 1;
      if (structure > structureMax) throw tooMuch(structureMax);
    } else if (byte === colon) {
      structure += 1;
      keys += 1;
      if (structure > structureMax) throw tooMuch(structureMax);
    } else if (byte === brace || byte === bracket) {
      structure += 1;
      depth += 1;
      if (depth > bodyDepthMax) throw tooDeep();
      if (structure > structureMax) throw tooMuch(structureMax);
    } else if (byte === braceEnd || byte === bracketEnd) {
      depth -= 1;
    }
  }
  return keys;
}

const tooDeep = (): Failure =>
  new Failure(
    'invalid_request',
    `The body is nested too deeply: arrays and objects may be nested ${bodyDepthMax} levels deep.`,
  );
const tooMuch = (structureMax: number): Failure =>
  new Failure(
    'invalid_request',
    `The body has more than ${structureMax} brackets, commas and colons outside of texts, more than this request can need.`,
  );

// Replaces unknown keys of a large JSON text by `""` before the text is parsed. V8 makes a hidden class for each new sequence of
// keys: 500 objects with 200 columns take 60 ms if columns are absent at random, and up to 900 ms if they come in any order. With
// one name for all unknown columns they take 10 ms. Values stay as they are, and the parser still checks the grammar.

/** How many unknown keys of a body stay: as many as the answer to a push may name. */
const unknownKeptMax = (limits.itemsPerPushMax + 1) * unknownNamedMax;
/** The depth of an item: in the array of the body. Answers name no keys of deeper objects. */
const itemDepth = 3;

/** A secret of the process: without it, a caller could choose many names of one hash. */
const seed = randomInt(2 ** 32);

const blank = 0x20;

export type HideNames = (bytes: Uint8Array) => Uint8Array;

/**
 * The function returns a copy of the text that has `""` and blanks for each key that is not `known`. The first unknown keys of
 * the body and of each item stay, because answers name them. The text must have passed `checkStructure`.
 */
export function nameHider(known: Iterable<string>): HideNames {
  const names = new Set(known);
  const isKnown = new Uint8Array(2 ** 16);
  for (const name of names) {
    let hash = seed;
    for (const byte of Buffer.from(name)) hash = hashed(hash, byte);
    isKnown[hash >>> 16] = 1;
  }
  /** Whether a key stays in the text; undefined for an invalid key, for which the parser refuses the text. */
  const stays = (bytes: Uint8Array, from: number, to: number): boolean | undefined => {
    let hash = seed;
    for (let at = from; at < to; at += 1) {
      const byte = bytes[at] ?? 0;
      if (byte === backslash) return isOneOf(names, bytes.subarray(from, to));
      if (byte < blank) return undefined;
      hash = hashed(hash, byte);
    }
    // An unknown key with the hash of a known key stays, which does no harm.
    return isKnown[hash >>> 16] === 1;
  };

  return (given) => {
    const bytes = Uint8Array.from(given);
    const { length } = bytes;
    const keptOf = new Uint8Array(limits.bodyDepthMax + 1);
    let depth = 0;
    let kept = 0;
    let textAt = -1;
    let textEnd = -1;
    for (let at = 0; at < length; at += 1) {
      const byte = bytes[at];
      if (byte === quote) {
        textAt = at;
        for (at += 1; at < length && bytes[at] !== quote; at += 1) if (bytes[at] === backslash) at += 1;
        textEnd = at;
        continue;
      }
      if (byte === brace || byte === bracket) {
        depth += 1;
        keptOf[depth] = 0;
      } else if (byte === braceEnd || byte === bracketEnd) depth -= 1;
      else if (byte === colon && textAt >= 0) {
        const staying = stays(bytes, textAt + 1, textEnd);
        if (staying === undefined) return bytes;
        const keptHere = keptOf[depth] ?? 0;
        if (!staying && depth <= itemDepth && keptHere < unknownNamedMax && kept < unknownKeptMax) {
          keptOf[depth] = keptHere + 1;
          kept += 1;
        } else if (!staying) {
          bytes[textAt + 1] = quote;
          bytes.fill(blank, textAt + 2, textEnd + 1);
        }
      } else if (byte !== colon && byte !== comma) continue;
      // A string is a key only directly before a colon.
      textAt = -1;
    }
    return bytes;
  };
}

const hashed = (hash: number, byte: number): number => Math.imul(hash ^ byte, 0x01000193);

/** Whether a key with escapes is one of the names; undefined for an invalid key. */
function isOneOf(names: ReadonlySet<string>, key: Uint8Array): boolean | undefined {
  try {
    return names.has(String(JSON.parse(`"${Buffer.from(key).toString()}"`)));
  } catch {
    return undefined;
  }
}
