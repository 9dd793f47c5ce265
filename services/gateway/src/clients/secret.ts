// A client's secret: `isk_`, 8 characters that name it, `_`, then 32 random bytes and a CRC-32 in letters and digits. Secret
// scanners find a secret by its form, a log names a secret without showing it, and the CRC-32 shows a typing error. No IO.
//
//   isk_k3JvP0aQ_<43 characters: 32 random bytes><6 characters: CRC-32 of all before them>
import { hash, randomBytes, randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const base = BigInt(alphabet.length);
const nameLength = 8;
const randomLength = 43;
const checksumLength = 6;
const form = new RegExp(
  String.raw`^isk_(?<name>[A-Za-z0-9]{${nameLength}})_[A-Za-z0-9]{${randomLength + checksumLength}}$`,
);

/** The prefix of every client secret. No token begins with this prefix. */
export const secretPrefix = 'isk_';
export const secretName = /^[A-Za-z0-9]{8}$/;

export function makeSecret(): { secret: string; name: string } {
  const name = Array.from({ length: nameLength }, () => alphabet[randomInt(alphabet.length)]).join('');
  const random = BigInt(`0x${randomBytes(32).toString('hex')}`);
  const text = `${secretPrefix}${name}_${inLetters(random, randomLength)}`;
  return { secret: text + checksumOf(text), name };
}

/** The name of a secret; undefined for a text of another form, or with a wrong checksum. */
export function readSecretName(text: string): string | undefined {
  const name = form.exec(text)?.groups?.['name'];
  if (name === undefined) return undefined;
  return text.endsWith(checksumOf(text.slice(0, -checksumLength))) ? name : undefined;
}

/** The hash of a secret. A fast hash suffices, because nobody can try all values of 256 random bits. */
export const hashOf = (secret: string): string => hash('sha256', secret, 'hex');

/** The claim `secret_id` of a token: every gateway computes the same id from its file. */
export const secretIdOf = (sha256: string): string =>
  hash('sha256', `secret_id:${sha256}`, 'base64url').slice(0, 16);

const checksumOf = (text: string): string => inLetters(BigInt(crc32(text)), checksumLength);

function inLetters(number: bigint, length: number): string {
  let text = '';
  for (let rest = number; rest > 0n; rest /= base) text = `${alphabet[Number(rest % base)]}${text}`;
  return text.padStart(length, '0');
}
