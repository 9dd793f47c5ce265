// Limits the depth and the amount of structure of a JSON text before parsing: 5 MiB of brackets or keys take a parser fifty times
// as long as a push of that size, and fifty times their bytes of memory. The grammar is left to the parser.
import { Failure, limits } from '@integration-sync/contracts';
import { jsonSigns } from './json-signs.ts';

const { bodyDepthMax } = limits;

// These constants are copies, because a loop over bytes reads imported constants more slowly.
const { quote, backslash, comma, colon, brace, bracket, braceEnd, bracketEnd } = jsonSigns;

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
