// Every id that this engine makes. They are made of letters, digits, `_` and `-` only, so that each can stand in
// a subject, a header, a URL and a field name.
import { hash, randomBytes } from 'node:crypto';

/**
 * The same for ever for one integration, kind and externalId, on every replica: none has to look anything
 * up to know where a record is. Neither an integration nor an externalId can hold the separator.
 */
export function internalIdOf(prefix: string, integration: string, externalId: string): string {
  return `${prefix}_${digest(`${prefix}\0${integration}\0${externalId}`)}`;
}

export const derivedId = (prefix: string, internalId: string): string =>
  `${prefix}_${digest(`${prefix}\0${internalId}`)}`;

/** 128 bits of a hash: no caller can make two names that meet. */
const digest = (name: string): string => hash('sha256', name, 'hex').slice(0, 32);

const timeDigits = 12;
const randomBytesCount = 10;

/** Sorts by time, to the millisecond. */
export const newSyncId = (at: Date): string =>
  `${syncIdsFrom(at)}${randomBytes(randomBytesCount).toString('hex')}`;

/** Before all that are made from that millisecond on, and after all that were made before it. */
export const syncIdsFrom = (at: Date): string =>
  `sync_${at.getTime().toString(16).padStart(timeDigits, '0')}`;

/** Where a record that a push creates stands among all records of its kind, for ever. */
export const orderOf = (syncId: string, place: number): string =>
  `${syncId}-${String(place).padStart(placeDigits, '0')}`;

const placeDigits = 3;

/** The push that created the record that stands there. */
export const syncIdOf = (order: string): string => order.slice(0, -(placeDigits + 1));

export const isCreatedBy = (order: string, syncId: string): boolean => order.startsWith(`${syncId}-`);

/** Derived, so that every replica publishes an event under the same id, however often. Empty: what all of a push begin with. */
export const eventId = (
  syncId: string,
  what: '' | 'completed' | `${'created' | 'updated' | 'archived' | 'erased' | 'drafted'}-${number}`,
) => `${syncId}-${what}`;

export const internalIdsOf = (records: readonly { internalId: string }[]): string[] =>
  records.map(({ internalId }) => internalId);

const hashHexDigits = 32;
const hashBytes = 16;

/** The hashes of ids of one kind, without their prefix. */
export const packIds = (ids: readonly string[]): Uint8Array =>
  Buffer.from(ids.map((id) => id.slice(-hashHexDigits)).join(''), 'hex');

export function unpackIds(prefix: string, packed: Uint8Array): string[] {
  const view = Buffer.from(packed.buffer, packed.byteOffset, packed.byteLength);
  return Array.from({ length: packed.byteLength / hashBytes }, (_, index) => {
    const start = index * hashBytes;
    return `${prefix}_${view.toString('hex', start, start + hashBytes)}`;
  });
}
