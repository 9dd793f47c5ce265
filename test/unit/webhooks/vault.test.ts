import { expect, it } from 'vitest';
import { openVault } from '../../../services/webhooks/src/secrets/vault.ts';

const key = (byte: number): string => Buffer.alloc(32, byte).toString('base64');
const secret = 'whsec_nothing-of-this-may-show';

it('the vault decrypts the texts that it encrypts, and the encrypted texts show nothing of the secret', () => {
  const vault = openVault(`a:${key(1)}`);
  const sealed = vault.seal(secret, 'wh_1');
  expect(vault.open(sealed, 'wh_1')).toBe(secret);
  expect(sealed).toMatch(/^a:/);
  expect(sealed).not.toContain('nothing-of-this-may-show');
  expect(vault.seal(secret, 'wh_1')).not.toBe(sealed);
});

it('the vault encrypts with the first key, and decrypts with each key', () => {
  const sealed = openVault(`old:${key(1)}`).seal(secret, 'wh_1');
  const vault = openVault(`new:${key(2)},old:${key(1)}`);
  expect(vault.open(sealed, 'wh_1')).toBe(secret);
  expect(vault.seal(secret, 'wh_1')).toMatch(/^new:/);
});

it('the vault decrypts no text of another endpoint, no text of another key, and no changed text', () => {
  const vault = openVault(`a:${key(1)}`);
  const sealed = vault.seal(secret, 'wh_1');
  expect(() => vault.open(sealed, 'wh_2')).toThrow('unable to authenticate');
  expect(() => openVault(`a:${key(2)}`).open(sealed, 'wh_1')).toThrow('unable to authenticate');
  const changed = `${sealed.slice(0, -4)}${sealed.endsWith('AAA=') ? 'BBB=' : 'AAA='}`;
  expect(() => vault.open(changed, 'wh_1')).toThrow('unable to authenticate');
});

it.each(['a:lost', 'a:lost,b:${key}', 'b:${key},b:lost', 'b:${key},c:gone'])(
  'the vault refuses the keys %s',
  (keys) => {
    expect(() => openVault(keys.replaceAll('${key}', key(1)))).toThrow('expected id:base64');
  },
);

it('the error for a lost key asks for a rotation, and the error for a key of other replicas for a retry', () => {
  const sealed = openVault(`a:${key(1)}`).seal(secret, 'wh_1');
  expect(() => openVault(`b:${key(2)},a:lost`).open(sealed, 'wh_1')).toThrow(
    /^conflict: .* rotate the secret/,
  );
  expect(() => openVault(`b:${key(2)}`).open(sealed, 'wh_1')).toThrow(/^unavailable: .* try again/);
});

it('the vault names lost keys apart from its own', () => {
  const vault = openVault(`new:${key(2)},old:lost`);
  expect([vault.keyIds, vault.lostIds]).toEqual([['new'], ['old']]);
});
