// Parses the bytes of a request as JSON in UTF-8. A byte order mark is tolerated, as RFC 8259 allows.
import { isUtf8 } from 'node:buffer';
import { Failure, limits } from '@integration-sync/contracts';
import { checkStructure, type HideNames } from './json-structure.ts';

const byteOrderMark = '\uFEFF';
/** In a body with fewer keys no key is hidden (json-structure.ts): the body is parsed fast with any keys. */
const keysMin = 25 * limits.itemsPerPushMax;

/** Parses a body without items, which is small. */
export function parseJson(bytes: Uint8Array): unknown {
  checkText(bytes, limits.otherBodyStructureMax);
  return parse(bytes, bytes);
}

/** Parses a body with items. `hide` may hide names of keys that are never read. */
export function parseItems(bytes: Uint8Array, hide: HideNames): unknown {
  const keys = checkText(bytes, limits.bodyStructureMax);
  return parse(keys > keysMin ? hide(bytes) : bytes, bytes);
}

function checkText(bytes: Uint8Array, structureMax: number): number {
  if (!isUtf8(bytes)) throw new Failure('invalid_json', 'The body is not valid UTF-8.');
  return checkStructure(bytes, structureMax);
}

function parse(bytes: Uint8Array, given: Uint8Array): unknown {
  const text = textOf(bytes);
  // The parser refuses a byte order mark.
  const from = text.startsWith(byteOrderMark) ? 1 : 0;
  try {
    return JSON.parse(text.slice(from));
  } catch (error) {
    const words = error instanceof Error ? error.message : '';
    const position = /at position (?<position>\d+)/.exec(words)?.groups?.['position'];
    const where =
      position === undefined
        ? tooEarly(words)
        : whereIn(given, Buffer.byteLength(text.slice(0, from + Number(position))));
    throw new Failure('invalid_json', `The body is not valid JSON${where}.`);
  }
}

const textOf = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');

// Of the parser's message only known words are shown: the rest quotes the body.

const tooEarly = (words: string): string => (/end of JSON input/.test(words) ? ': it ends too early' : '');

/** The line and column of a byte in the caller's body. Hiding keys keeps the number of bytes, but not of characters. */
function whereIn(given: Uint8Array, at: number): string {
  const before = textOf(given.subarray(0, at)).replace(byteOrderMark, '');
  const line = before.split('\n').length;
  return ` (line ${line}, column ${before.length - before.lastIndexOf('\n')})`;
}
