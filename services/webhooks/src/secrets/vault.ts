// Encrypts ("seals") secrets for MongoDB: AES-256-GCM with a key that only the configuration has. A sealed secret names its key,
// so that an old key still decrypts ("opens") the secrets that it has sealed. A secret that was sealed for one endpoint cannot be
// opened for another.
import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto';
import { Failure } from '@integration-sync/contracts';

/** The error if this replica lacks the key of a sealed secret. Another replica may have the key, unless the key is lost. */
export class UnknownKey extends Failure {
  constructor(keyId: string, isLost: boolean) {
    super(
      isLost ? 'conflict' : 'unavailable',
      'The signing secret or the headers of the webhook cannot be decrypted: ' +
        (isLost ? 'rotate the secret, and set the headers again.' : 'this replica lacks a key; try again.'),
      {
        cause: new Error(
          `the secrets of the webhook were sealed with key "${keyId}", which is ${isLost ? 'lost' : 'not configured'}`,
        ),
      },
    );
  }
}

export type Vault = ReturnType<typeof openVault>;

const algorithm = 'aes-256-gcm';
const ivBytes = 12;
const tagBytes = 16;
const keyForm = /^(?<id>[A-Za-z0-9_-]{1,32}):(?:(?<key>[A-Za-z0-9+/]{43}=)|lost)$/;

/** `keys` is `id:base64,id:base64,id:lost`. The first key seals; each key opens the secrets that it sealed. */
export function openVault(keys: string) {
  const byId = parseKeys(keys);
  const [first] = byId ?? [];
  if (byId === undefined || first === undefined)
    throw new Error('WEBHOOK_SECRET_KEY: expected id:base64,id:base64');
  const [currentId, currentKey] = first;
  const lostIds = readKeys(keys).flatMap(({ id = '', key }) => (key === undefined ? [id] : []));

  return {
    keyIds: [...byId.keys()],
    /** Keys that nobody has any more. Secrets that they sealed cannot be opened until their integrations rotate them. */
    lostIds,
    /** Fingerprints of the keys, in the order of `keyIds`. They differ for different keys with the same id, and reveal no key. */
    fingerprints: Array.from(byId, ([id, key]) => ({ id, fingerprint: fingerprintOf(key) })),
    seal(secret: string, endpointId: string): string {
      const iv = randomBytes(ivBytes);
      const cipher = createCipheriv(algorithm, currentKey, iv).setAAD(Buffer.from(endpointId));
      const text = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()]);
      return `${currentId}:${Buffer.concat([iv, cipher.getAuthTag(), text]).toString('base64')}`;
    },
    open(sealed: string, endpointId: string): string {
      const [, box = ''] = sealed.split(':');
      const keyId = keyIdOf(sealed);
      const key = byId.get(keyId);
      if (key === undefined) throw new UnknownKey(keyId, lostIds.includes(keyId));
      const bytes = Buffer.from(box, 'base64');
      const decipher = createDecipheriv(algorithm, key, bytes.subarray(0, ivBytes), {
        authTagLength: tagBytes,
      })
        .setAAD(Buffer.from(endpointId))
        .setAuthTag(bytes.subarray(ivBytes, ivBytes + tagBytes));
      return decipher.update(bytes.subarray(ivBytes + tagBytes), undefined, 'utf8') + decipher.final('utf8');
    },
  };
}

export const keyIdOf = (sealed: string): string => sealed.split(':', 1)[0] ?? '';

const fingerprintOf = (key: Buffer): string =>
  createHmac('sha256', key).update('fingerprint').digest('hex').slice(0, 16);

/** Reads a list of keys as keys by id, in order, without lost ones; undefined if an entry is no key, or an id occurs twice. */
export function parseKeys(keys: string): Map<string, Buffer> | undefined {
  const entries = readKeys(keys);
  const ids = new Set(entries.map(({ id }) => id));
  const [first] = entries;
  if (ids.has(undefined) || ids.size < entries.length || first?.key === undefined) return undefined;
  return new Map(
    entries.flatMap(({ id = '', key }) => (key === undefined ? [] : [[id, Buffer.from(key, 'base64')]])),
  );
}

const readKeys = (keys: string): { id?: string; key?: string }[] =>
  keys.split(',').map((entry) => keyForm.exec(entry.trim())?.groups ?? {});
