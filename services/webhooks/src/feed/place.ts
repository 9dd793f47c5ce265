// A place of the feed: the point of the log from which a caller reads on, encrypted for one integration and one log. Pages leave
// out events up to `since` (page.ts). A caller may change its filters with each request. A caller may keep a place for days, so
// places can still be read with former keys.
//
// All integrations share the log, so its sequences would show a caller how much other integrations push. So a place has the same
// length for every content, and no two places have more in common than random bytes have:
//
//   salt (16 bytes, random)  tag (16)  ciphertext (56: stream, sequence, index, sinceMs, restores, newest)
//
// Each place has an AES-256-GCM key of its own, by HMAC from a key of the vault, the integration and the salt. So no key encrypts
// more than one place, and the nonce may be constant.
//
// Release 1.1.0 signed places without encryption. This release reads signed places. It also issues them while a replica of
// release 1.1.0 lives, because that replica cannot read encrypted places.
import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto';
import { openSealer } from '@integration-sync/runtime/seal';
import type { LogPoint } from '../log/offsets.ts';
import type { NewestMessage } from '../log/restores.ts';
import { logIdOf } from '../log/stream.ts';
import { parseKeys } from '../secrets/vault.ts';

export interface Place extends LogPoint {
  /** The id of the log to which the point belongs. */
  stream: string;
  /** The newest message of the log when the place was issued. Places of release 1.1.0 do not have it. */
  newest?: NewestMessage | undefined;
  /** Pages leave out all events before the first event that is later than this time, in epoch milliseconds. */
  sinceMs: number | null;
}

type Signed = [
  stream: string,
  sequence: number,
  index: number,
  sinceMs: number | null,
  newest?: [sequence: number, storedAtMs: number],
];

export type Places = ReturnType<typeof openPlaces>;

/** The first of the vault's `keys` encrypts. `mayEncrypt` says whether all living replicas can read encrypted places. */
export function openPlaces(keys: string, mayEncrypt: () => boolean) {
  const all = Array.from(parseKeys(keys)?.values() ?? [], (key) => ({
    key,
    signer: openSealer<Signed>(`feed ${key.toString('base64')}`),
  }));
  const [first] = all;
  if (first === undefined) throw new Error('WEBHOOK_SECRET_KEY: expected id:base64,id:base64');
  return {
    seal(integration: string, place: Place): string {
      if (mayEncrypt()) return encrypt(first.key, integration, place);
      const { stream, sequence, index, sinceMs, newest } = place;
      const signed: Signed = [stream, sequence, index, sinceMs];
      if (newest !== undefined) signed.push([newest.sequence, newest.storedAt.getTime()]);
      return first.signer.seal(integration, signed);
    },
    /** Reads a place. Undefined for a text that webhooks did not issue for this integration: feed.ts then answers 400. */
    open(integration: string, text: string): Place | undefined {
      for (const { key, signer } of all) {
        const place = decrypt(key, integration, text);
        if (place !== undefined) return place;
        const signed = signer.unseal(integration, text);
        if (signed === undefined) continue;
        const [stream, sequence, index, sinceMs, newest = []] = signed;
        return { stream, sequence, index, sinceMs, ...newestOf(newest) };
      }
      return undefined;
    },
  };
}

const algorithm = 'aes-256-gcm';
const saltBytes = 16;
const tagBytes = 16;
const nonce = Buffer.alloc(12);
const numberBytes = 8;
const contentBytes = 7 * numberBytes;

const placeKey = (key: Buffer, integration: string, salt: Uint8Array): Buffer =>
  createHmac('sha256', key).update(`feed place ${integration}\0`).update(salt).digest();

function encrypt(key: Buffer, integration: string, place: Place): string {
  const { stream, sequence, index, sinceMs, newest } = place;
  const [createdAt = '', restores = 0] = stream.split('#');
  const numbers = [Date.parse(createdAt), sequence, index, sinceMs, Number(restores)];
  const content = Buffer.alloc(contentBytes);
  for (const [n, number] of [...numbers, newest?.sequence, newest?.storedAt.getTime()].entries())
    content.writeDoubleBE(number ?? Number.NaN, n * numberBytes);
  const salt = randomBytes(saltBytes);
  const cipher = createCipheriv(algorithm, placeKey(key, integration, salt), nonce);
  const box = Buffer.concat([cipher.update(content), cipher.final()]);
  return Buffer.concat([salt, cipher.getAuthTag(), box]).toString('base64url');
}

function decrypt(key: Buffer, integration: string, text: string): Place | undefined {
  const bytes = Buffer.from(text, 'base64url');
  // Node's decoder skips characters that are not base64url, so different texts could decode to the same bytes.
  if (bytes.length !== saltBytes + tagBytes + contentBytes || bytes.toString('base64url') !== text)
    return undefined;
  const salt = bytes.subarray(0, saltBytes);
  const decipher = createDecipheriv(algorithm, placeKey(key, integration, salt), nonce, {
    authTagLength: tagBytes,
  }).setAuthTag(bytes.subarray(saltBytes, saltBytes + tagBytes));
  const content = decipher.update(bytes.subarray(saltBytes + tagBytes));
  try {
    decipher.final();
  } catch {
    return undefined;
  }
  const numberAt = (n: number): number => content.readDoubleBE(n * numberBytes);
  const [sinceMs, newest] = [numberAt(3), numberAt(5)];
  return {
    stream: logIdOf(new Date(numberAt(0)).toISOString(), numberAt(4)),
    sequence: numberAt(1),
    index: numberAt(2),
    sinceMs: Number.isNaN(sinceMs) ? null : sinceMs,
    ...newestOf(Number.isNaN(newest) ? [] : [newest, numberAt(6)]),
  };
}

const newestOf = ([sequence, storedAtMs]: readonly number[]): Pick<Place, 'newest'> =>
  sequence === undefined || storedAtMs === undefined
    ? {}
    : { newest: { sequence, storedAt: new Date(storedAtMs) } };
