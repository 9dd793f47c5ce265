// Where a page of the attempt log ended, sealed: a caller can carry it, but neither make nor change one, nor use
// it for another endpoint.
import { createHmac, timingSafeEqual } from 'node:crypto';

export interface Cursor {
  /** Entries before this place in the log come next. */
  before: number;
  page: number;
  limit: number;
  sinceMs: number | null;
  outcome: string | null;
  event: string | null;
}

const sealBytes = 16;

export function sealCursor(key: string, endpointId: string, cursor: Cursor): string {
  const { before, page, limit, sinceMs, outcome, event } = cursor;
  const content = Buffer.from(JSON.stringify([before, page, limit, sinceMs, outcome, event]));
  return Buffer.concat([seal(key, endpointId, content), content]).toString('base64url');
}

/** Undefined for whatever was not issued for this endpoint. */
export function openCursor(key: string, endpointId: string, text: string): Cursor | undefined {
  const bytes = Buffer.from(text, 'base64url');
  // Decoding passes over what is not base64url, which would let two texts be one cursor.
  if (bytes.length <= sealBytes || bytes.toString('base64url') !== text) return undefined;
  const content = bytes.subarray(sealBytes);
  if (!timingSafeEqual(bytes.subarray(0, sealBytes), seal(key, endpointId, content))) return undefined;
  const [before, page, limit, sinceMs, outcome, event]: Sealed = JSON.parse(content.toString());
  return { before, page, limit, sinceMs, outcome, event };
}

type Sealed = [number, number, number, number | null, string | null, string | null];

const seal = (key: string, endpointId: string, content: Uint8Array): Buffer =>
  createHmac('sha256', `cursor ${key}`)
    .update(`${endpointId} `)
    .update(content)
    .digest()
    .subarray(0, sealBytes);
