import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import {
  hashOf,
  makeSecret,
  readSecretName,
  secretIdOf,
} from '../../../services/gateway/src/clients/secret.ts';

// Its checksum is the CRC-32 of all that is before it, in base 62.
const known = 'isk_Example1_00000000000000000000000000000000000000000014Uwt7O';

it('a client’s secret has letters, digits and underscores, contains the name of the secret, and is random', () => {
  const made = Array.from({ length: 200 }, () => makeSecret());
  for (const { secret, name } of made) {
    expect(secret).toMatch(/^isk_[A-Za-z0-9]{8}_[A-Za-z0-9]{49}$/);
    expect(secret.slice(4, 12)).toBe(name);
    expect(readSecretName(secret)).toBe(name);
  }
  expect(new Set(made.map(({ secret }) => secret)).size).toBe(200);
  expect(new Set(made.map(({ name }) => name)).size).toBe(200);
});

it('a known secret of a client stays valid, as the format and the checksum of secrets never change', () => {
  expect(readSecretName(known)).toBe('Example1');
});

it('a secret with one character changed, left out or added is invalid', () => {
  const { secret } = makeSecret();
  for (let at = 0; at < secret.length; at += 1) {
    const other = secret[at] === 'x' ? 'y' : 'x';
    expect(readSecretName(secret.slice(0, at) + other + secret.slice(at + 1))).toBeUndefined();
    expect(readSecretName(secret.slice(0, at) + secret.slice(at + 1))).toBeUndefined();
    expect(readSecretName(`${secret.slice(0, at)}x${secret.slice(at)}`)).toBeUndefined();
  }
});

it.each(['', 'isk_', 'isk', 'x'.repeat(62), 'ISK_', '\u0000', `${makeSecret().secret}\n`])(
  '%j is no secret',
  (text) => {
    expect(readSecretName(text)).toBeUndefined();
  },
);

it('a secret is stored as SHA-256 in hex, as sha256sum prints it', () => {
  const { secret } = makeSecret();
  expect(hashOf(secret)).toBe(createHash('sha256').update(secret).digest('hex'));
});

it('a token names the secret that fetched it by an id that shows no part of the secret’s hash', () => {
  const hash = hashOf(makeSecret().secret);
  const id = secretIdOf(hash);
  expect(id).toMatch(/^[\w-]{16}$/);
  expect(secretIdOf(hash)).toBe(id);
  expect(secretIdOf(hashOf('other'))).not.toBe(id);
  expect(Buffer.from(hash, 'hex').toString('base64url')).not.toContain(id);
});
