// How deep a JSON text is nested and how much structure it has, counted before it is parsed: 5 MiB of brackets or keys take a
// parser fifty times as long as a push of that size, and fifty times their bytes of memory. It is no check of the grammar:
// the parser refuses a text that is not JSON.
import { Failure, limits } from '@integration-sync/contracts';

const { bodyDepthMax, bodyStructureMax } = limits;

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const colon = 0x3a;
const brace = 0x7b;
const bracket = 0x5b;
const braceEnd = 0x7d;
const bracketEnd = 0x5d;

/** Throws the failure to answer with. */
export function checkStructure(bytes: Uint8Array): void {
  const { length } = bytes;
  let depth = 0;
  let structure = 0;
  for (let at = 0; at < length; at += 1) {
    const byte = bytes[at];
    if (byte === quote) {
      // Written out here: as a function of its own it doubles the time.
      for (at += 1; at < length && bytes[at] !== quote; at += 1) if (bytes[at] === backslash) at += 1;
    } else if (byte === comma || byte === colon) {
      structure += 1;
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
