// Where a listing ended, sealed: a caller can carry a cursor but neither read, change nor make one, nor use it
// on another listing than the one that issued it.
import { createHmac, timingSafeEqual } from 'node:crypto';

export interface Cursor {
  /** The `order` of the last entity seen. */
  after: string;
  /** The number of the page that follows. */
  page: number;
  limit: number;
  since: Date | undefined;
  /** An `order` at which the walk ends: what is created while it goes on belongs to the next. */
  until: string | undefined;
  /** What the first page said, so that it does not matter from which page it is taken. */
  nextSince: Date | undefined;
}

const version = '1';
/** In none of the parts. */
const separator = ' ';
const sealBytes = 16;

/** `listing` names whose entities of which kind are listed. */
export function sealCursor(key: Uint8Array, listing: string, cursor: Cursor): string {
  const { after, page, limit, since, until, nextSince } = cursor;
  const content = Buffer.from(
    [version, after, page, limit, since?.getTime() ?? '', until ?? '', nextSince?.getTime() ?? ''].join(
      separator,
    ),
  );
  return Buffer.concat([seal(key, listing, content), content]).toString('base64url');
}

/** Undefined for whatever this listing did not issue. */
export function openCursor(key: Uint8Array, listing: string, text: string): Cursor | undefined {
  const bytes = Buffer.from(text, 'base64url');
  // Decoding passes over what is not base64url, which would let two texts be one cursor.
  if (bytes.length <= sealBytes || bytes.toString('base64url') !== text) return undefined;
  const content = bytes.subarray(sealBytes);
  if (!timingSafeEqual(bytes.subarray(0, sealBytes), seal(key, listing, content))) return undefined;
  // Ours, so its form is known, unless another release made it.
  const [made, after, page, limit, since, until, nextSince] = content.toString().split(separator);
  if (made !== version || after === undefined) return undefined;
  return {
    after,
    page: Number(page),
    limit: Number(limit),
    since: toDate(since),
    until: until === '' ? undefined : until,
    nextSince: toDate(nextSince),
  };
}

const toDate = (at: string | undefined): Date | undefined => (at ? new Date(Number(at)) : undefined);

const seal = (key: Uint8Array, listing: string, content: Uint8Array): Buffer =>
  createHmac('sha256', key).update(`${listing}\0`).update(content).digest().subarray(0, sealBytes);
