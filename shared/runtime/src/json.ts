// Parses the bytes of a request as JSON in UTF-8. A byte order mark is tolerated, as RFC 8259 allows.
import { isUtf8 } from 'node:buffer';
import { Failure } from '@integration-sync/contracts';
import { checkStructure } from './json-structure.ts';

export function parseJson(bytes: Uint8Array): unknown {
  if (!isUtf8(bytes)) throw new Failure('invalid_json', 'The body is not valid UTF-8.');
  checkStructure(bytes);
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
  try {
    return JSON.parse(text.startsWith('\uFEFF') ? text.slice(1) : text);
  } catch (error) {
    throw new Failure('invalid_json', `The body is not valid JSON${whereIn(error)}.`);
  }
}

/** Only the position from the parser's message: the rest of the message quotes the body. */
function whereIn(error: unknown): string {
  const words = error instanceof Error ? error.message : '';
  const { line, column } = /\(line (?<line>\d+) column (?<column>\d+)\)$/.exec(words)?.groups ?? {};
  if (line !== undefined) return ` (line ${line}, column ${column})`;
  return /end of JSON input/.test(words) ? ': it ends too early' : '';
}
