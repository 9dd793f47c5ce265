// Limits the depth and the amount of structure of a JSON text before parsing: 5 MiB of brackets or keys take a parser fifty times
// as long as a push of that size, and fifty times their bytes of memory. V8 also makes a hidden class for each new sequence of
// keys: 500 objects with 120 keys of their own, in 800 KB, take half a second. The grammar is left to the parser.
import { randomInt } from 'node:crypto';
import { Failure, limits } from '@integration-sync/contracts';

const { bodyDepthMax, bodyStructureMax, bodyKeySequencesMax } = limits;

/** A secret of the process, so that no caller can find sequences of keys with the same hash. */
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
  if (keys > bodyKeySequencesMax) checkSequences(bytes);
}

function checkSequences(bytes: Uint8Array): void {
  const { length } = bytes;
  const seen = new Uint8Array(2 ** 16);
  /** At each depth, the hash of the keys that the current object has had so far. */
  const hashes = new Uint32Array(bodyDepthMax + 1);
  let depth = 0;
  let sequences = 0;
  let textAt = 0;
  let textEnd = 0;
  for (let at = 0; at < length; at += 1) {
    const byte = bytes[at];
    if (byte === quote) {
      textAt = at;
      for (at += 1; at < length && bytes[at] !== quote; at += 1) if (bytes[at] === backslash) at += 1;
      textEnd = at;
    } else if (byte === colon) {
      let hash = hashes[depth] ?? seed;
      for (let key = textAt; key < textEnd; key += 1) hash = Math.imul(hash ^ (bytes[key] ?? 0), 0x01000193);
      hashes[depth] = hash;
      const slot = hash >>> 16;
      if (seen[slot] === 0) sequences += 1;
      seen[slot] = 1;
      if (sequences > bodyKeySequencesMax) throw tooManySequences();
    } else if (byte === brace || byte === bracket) {
      depth += 1;
      hashes[depth] = seed;
    } else if (byte === braceEnd || byte === bracketEnd) {
      depth -= 1;
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
const tooManySequences = (): Failure =>
  new Failure(
    'invalid_request',
    `The body has objects with more than ${bodyKeySequencesMax} different sequences of keys: name the fields of all items in one order.`,
  );
