// A request's bytes as JSON. It is UTF-8; a byte order mark before it is tolerated, as the standard allows.
import { isUtf8 } from 'node:buffer';
import { Failure } from '@integration-sync/contracts';

export function parseJson(bytes: Uint8Array): unknown {
  if (!isUtf8(bytes)) throw new Failure('invalid_json', 'The body is not valid UTF-8.');
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
  try {
    return JSON.parse(text.startsWith('\uFEFF') ? text.slice(1) : text);
  } catch {
    // The parser's own words quote the body, and differ between its releases.
    throw new Failure('invalid_json', 'The body is not valid JSON.');
  }
}
