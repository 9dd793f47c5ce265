// Limits the depth and the amount of structure of a JSON text before parsing: 5 MiB of brackets or keys take a parser fifty times
// as long as a push of that size, and fifty times their bytes of memory. Names of keys are limited too: V8 keeps a string and
// makes hidden classes for each, so 800 objects with 120 names of their own take half a second. The same names in any order
// take a fifth of that. The grammar is left to the parser.
import { randomInt } from 'node:crypto';
import { Failure, limits } from '@integration-sync/contracts';

const { bodyDepthMax, bodyStructureMax, bodyKeyNamesMax } = limits;

/** A secret of the process, so that no caller can find names with the same hash. */
const seed = randomInt(2 ** 32);

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const colon = 0x3a;
const brace = 0x7b;
const bracket = 0x5b;
const braceEnd = 0x7d;
const bracketEnd = 0x5d;

/** Throws a `Failure` for a text beyond the limits. */
export function checkStructure(bytes: Uint8Array): void {
  const { length } = bytes;
  let depth = 0;
  let structure = 0;
  let keys = 0;
  for (let at = 0; at < length; at += 1) {
    const byte = bytes[at];
    if (byte === quote) {
      // Inlined, because a function for the loop over a string doubles the time.
      for (at += 1; at < length && bytes[at] !== quote; at += 1) if (bytes[at] === backslash) at += 1;
    } else if (byte === comma) {
      structure += 1;
      if (structure > bodyStructureMax) throw tooMuch();
    } else if (byte === colon) {
      structure += 1;
      keys += 1;
      if (structure > bodyStructureMax) throw tooMuch();
    } else if (byte === brace || byte === bracket) {
      structure += 1;
      depth += 1;
      if (depth > bodyDepthMax) throw tooDeep();
      if (structure > bodyStructureMax) throw tooMuch();
    } else if (byte === braceEnd || byte === bracketEnd) {
      depth -= 1;
    }
  }
  // An ordinary push has fewer keys and skips the second pass.
  if (keys > bodyKeyNamesMax) checkNames(bytes);
}

function checkNames(bytes: Uint8Array): void {
  const { length } = bytes;
  const seen = new Uint8Array(2 ** 16);
  let names = 0;
  let textAt = 0;
  let textEnd = 0;
  for (let at = 0; at < length; at += 1) {
    const byte = bytes[at];
    if (byte === quote) {
      textAt = at;
      for (at += 1; at < length && bytes[at] !== quote; at += 1) if (bytes[at] === backslash) at += 1;
      textEnd = at;
    } else if (byte === colon) {
      let hash = seed;
      for (let key = textAt; key < textEnd; key += 1) hash = Math.imul(hash ^ (bytes[key] ?? 0), 0x01000193);
      const slot = hash >>> 16;
      if (seen[slot] === 0) names += 1;
      seen[slot] = 1;
      if (names > bodyKeyNamesMax) throw tooManyNames();
    }
  }
}

const tooDeep = (): Failure =>
  new Failure(
    'invalid_request',
    `The body is nested too deeply: arrays and objects may be in each other ${bodyDepthMax} deep.`,
  );
const tooMuch = (): Failure =>
  new Failure(
    'invalid_request',
    `The body has more than ${bodyStructureMax} brackets, commas and colons outside of texts, more than ${limits.itemsPerPushMax} items need.`,
  );
const tooManyNames = (): Failure =>
  new Failure(
    'invalid_request',
    `The body has keys of more than ${bodyKeyNamesMax} different names: items may have many fields, but their names must be the same ones.`,
  );
