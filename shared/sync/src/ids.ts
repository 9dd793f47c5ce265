// Makes all ids of records and pushes. An id has only letters, digits, `_` and `-`, so that it can stand in a NATS
// subject, a header, a URL and a field name.
import { hash, randomBytes } from 'node:crypto';

/** A hash, so a replica knows the id without a query. Neither an integration nor an externalId can hold the separator. */
export function internalIdOf(prefix: string, integration: string, externalId: string): string {
  return `${prefix}_${digest(`${prefix}\0${integration}\0${externalId}`)}`;
}

export const derivedId = (prefix: string, internalId: string): string =>
  `${prefix}_${digest(`${prefix}\0${internalId}`)}`;

/** 128 bits of a hash: no caller can find two names with the same digest. */
const digest = (name: string): string => hash('sha256', name, 'hex').slice(0, 32);

const timeDigits = 12;
const randomBytesCount = 10;

/** A new sync id; sync ids sort by time, to the millisecond. */
export const newSyncId = (at: Date): string =>
  `${syncIdsFrom(at)}${randomBytes(randomBytesCount).toString('hex')}`;

/** A text that sorts before the sync ids of the millisecond `at`, and after all earlier sync ids. */
export const syncIdsFrom = (at: Date): string =>
  `sync_${at.getTime().toString(16).padStart(timeDigits, '0')}`;

/** The sort key of a new record among all records of its kind: the sync id and the record's ordinal in the push. */
export const orderOf = (syncId: string, ordinal: number): string =>
  `${syncId}-${String(ordinal).padStart(ordinalDigits, '0')}`;

const ordinalDigits = 3;

/** The sync id of the push that created the record with this `order`. */
export const syncIdOf = (order: string): string => order.slice(0, -(ordinalDigits + 1));

export const isCreatedBy = (order: string, syncId: string): boolean => order.startsWith(`${syncId}-`);

export const internalIdsOf = (records: readonly { internalId: string }[]): string[] =>
  records.map(({ internalId }) => internalId);

const hashHexDigits = 32;
const hashBytes = 16;

/** Packs the hashes of internal ids of one kind, without the prefix of the kind. */
export const packIds = (ids: readonly string[]): Uint8Array =>
  Buffer.from(ids.map((id) => id.slice(-hashHexDigits)).join(''), 'hex');

export function unpackIds(prefix: string, packed: Uint8Array): string[] {
  const view = Buffer.from(packed.buffer, packed.byteOffset, packed.byteLength);
  return Array.from({ length: packed.byteLength / hashBytes }, (_, index) => {
    const start = index * hashBytes;
    return `${prefix}_${view.toString('hex', start, start + hashBytes)}`;
  });
}
