import { describe, expect, it } from 'vitest';
import { ClientsRefused, parseClients } from '../../../services/gateway/src/clients/clients-file.ts';
import { indexClients } from '../../../services/gateway/src/clients/credential-index.ts';
import { TokenRefused } from '../../../services/gateway/src/tokens/token-claims.ts';
import { hashOf, makeSecret } from '../../../services/gateway/src/clients/secret.ts';

const scope = 'integration:suppliers:read integration:suppliers:write';
const { secret, name } = makeSecret();
const hash = hashOf(secret);
const other = hashOf('another');
const third = hashOf('a third');

const client = (changed: Record<string, unknown> = {}): Record<string, unknown> => ({
  id: 'erp',
  integration: 'acme',
  scope,
  secrets: [{ name, sha256: hash }],
  ...changed,
});
const withSecrets = (...secrets: unknown[]): unknown[] => [client({ secrets })];
const parse = (content: unknown) =>
  parseClients(Buffer.from(typeof content === 'string' ? content : JSON.stringify(content)));

function problemOf(content: unknown): string {
  try {
    parse(content);
  } catch (error) {
    if (error instanceof ClientsRefused) return error.message;
    throw error;
  }
  throw new Error('the file was taken');
}

describe('a valid file of clients', () => {
  it('has clients with scopes and secrets, which may have an expiry time', () => {
    const expiresAt = '2027-01-31T12:00:00+02:00';
    expect(parse(withSecrets({ name, sha256: hash.toUpperCase(), expiresAt }, `sha256:${other}`))).toEqual([
      {
        id: 'erp',
        integration: 'acme',
        scopes: ['integration:suppliers:read', 'integration:suppliers:write'],
        secrets: [
          { name, sha256: hash, endsAtMs: Date.parse('2027-01-31T10:00:00Z') },
          { name: undefined, sha256: other, endsAtMs: Infinity },
        ],
      },
    ]);
  });

  it.each<[string, unknown]>([
    ['no clients', []],
    ['a client whose secrets are all revoked', [client({ secrets: [] })]],
    ['a byte order mark and line breaks', `\uFEFF${JSON.stringify([client()], null, 2)}\r\n`],
    ['scopes as an array', [client({ scope: scope.split(' ') })]],
    [
      'an id that is a name of a property',
      [client({ id: '__proto__' }), client({ id: 'constructor', secrets: [] })],
    ],
    ['an id with a colon and a percent sign', [client({ id: 'a:b%20+c' })]],
  ])('may have %s', (_name, content) => {
    expect(() => parse(content)).not.toThrow();
  });
});

describe('a file of clients is refused for', () => {
  it.each<[string, unknown, string]>([
    ['nothing', '', 'the file is not JSON, or ends too early'],
    ['half a JSON', JSON.stringify([client()]).slice(0, -20), 'the file is not JSON, or ends too early'],
    ['a colon less', '[{"id" "erp"}]', 'the file is not JSON, or ends too early (line 1 column 8)'],
    ['a word that would be quoted', `[{"id": ${hash}}]`, 'the file is not JSON, or ends too early'],
    ['an object', client(), 'the file: expected an array of clients, got an object'],
    ['null', 'null', 'the file: expected an array of clients, got null'],
    [
      'a client that is text',
      ['erp'],
      'client 1: expected an object with id, integration, scope, secrets, got "erp"',
    ],
    [
      'an unknown key',
      [client({ scopes: scope })],
      'client 1: expected the keys id, integration, scope, secrets, got "scopes"',
    ],
    [
      'a key __proto__',
      `[{"__proto__": {}, ${JSON.stringify(client()).slice(1)}]`,
      'client 1: expected the keys id, integration, scope, secrets, got "__proto__"',
    ],
    [
      'no id',
      [client({ id: undefined })],
      'client 1, id: expected 1 to 64 printable characters of ASCII without a space, got nothing',
    ],
    [
      'an id with a space',
      [client({ id: 'the erp' })],
      'client 1, id: expected 1 to 64 printable characters of ASCII without a space, got "the erp"',
    ],
    [
      'an id of 65 characters',
      [client({ id: 'x'.repeat(65) })],
      'client 1, id: expected 1 to 64 printable characters of ASCII without a space, got 65 characters that are not shown',
    ],
    [
      'an id that is a number',
      [client({ id: 7 })],
      'client 1, id: expected 1 to 64 printable characters of ASCII without a space, got 7',
    ],
    [
      'an integration with a dot',
      [client({ integration: 'a.b' })],
      'client 1 ("erp"), integration: expected 1 to 64 letters, digits, _ or -, got "a.b"',
    ],
    [
      'no scope',
      [client({ scope: '' })],
      'client 1 ("erp"), scope: expected scopes, separated by spaces, got ""',
    ],
    [
      'an unknown scope in the second client',
      [client(), client({ id: 'pim', scope: 'integration:suppliers:wrote', secrets: [] })],
      'client 2 ("pim"), scope: expected scopes of integration:suppliers:write, integration:suppliers:read,',
    ],
    [
      'secrets that are no array',
      [client({ secrets: hash })],
      'client 1 ("erp"), secrets: expected an array, got 64 characters that are not shown',
    ],
    [
      'a secret in place of its hash',
      withSecrets(secret),
      'client 1 ("erp"), secret 1: expected "sha256:" and 64 hex digits, or an object with sha256, got 62 characters that are not shown',
    ],
    ['a hash without its kind', withSecrets(hash), 'got 64 characters that are not shown'],
    ['a hash of another kind', withSecrets(`sha512:${hash}`), 'got 71 characters that are not shown'],
    [
      'a short hash',
      withSecrets({ sha256: hash.slice(1) }),
      'client 1 ("erp"), secret 1, sha256: expected 64 hex digits, got 63 characters that are not shown',
    ],
    [
      'a secret as sha256',
      withSecrets({ sha256: secret }),
      'client 1 ("erp"), secret 1, sha256: expected 64 hex digits, got 62 characters that are not shown',
    ],
    [
      'a secret as name',
      withSecrets({ name: secret, sha256: hash }),
      'client 1 ("erp"), secret 1, name: expected the 8 letters and digits behind isk_, got 62 characters that are not shown',
    ],
    [
      'a secret as key',
      withSecrets({ [secret]: true }),
      'client 1 ("erp"), secret 1: expected the keys name, sha256, expiresAt, got 62 characters that are not shown',
    ],
    [
      'a hash as key',
      withSecrets({ [hash]: true }),
      'client 1 ("erp"), secret 1: expected the keys name, sha256, expiresAt, got 64 characters that are not shown',
    ],
    [
      'a hash as id',
      [client({ id: hash })].concat([client({ id: hash })]),
      'client 2, id: 64 characters that are not shown is the id of client 1 already',
    ],
    [
      'an end that is a date',
      withSecrets({ sha256: hash, expiresAt: '2027-01-31' }),
      'client 1 ("erp"), secret 1, expiresAt: expected a time such as "2027-01-31T00:00:00Z", got "2027-01-31"',
    ],
    [
      'an end that there is not',
      withSecrets({ sha256: hash, expiresAt: '2027-02-30T00:00:00Z' }),
      'got "2027-02-30T00:00:00Z"',
    ],
    [
      'an end without a zone',
      withSecrets({ sha256: hash, expiresAt: '2027-01-31T00:00:00' }),
      'got "2027-01-31T00:00:00"',
    ],
    ['an end that is null', withSecrets({ sha256: hash, expiresAt: null }), 'got null'],
    ['an end in seconds', withSecrets({ sha256: hash, expiresAt: 1_800_000_000 }), 'got 1800000000'],
    [
      'a doubled id',
      [client(), client({ secrets: [] })],
      'client 2, id: "erp" is the id of client 1 already',
    ],
    [
      'a doubled hash, once in capitals',
      [client(), client({ id: 'pim', secrets: [`sha256:${third}`, `sha256:${hash.toUpperCase()}`] })],
      'client 2 ("pim"), secret 2: the same as client 1 ("erp"), secret 1',
    ],
    [
      'a doubled name',
      withSecrets({ name, sha256: hash }, { name, sha256: other }),
      'client 1 ("erp"), secret 2: the same as client 1 ("erp"), secret 1',
    ],
  ])('its mistake: %s', (_name, content, words) => {
    const problem = problemOf(content);
    expect(problem).toContain(words);
    for (const hidden of [secret, hash, other, third, hash.slice(8, 32)]) {
      expect(problem.toLowerCase()).not.toContain(hidden.toLowerCase());
    }
  });

  it('bytes that are not UTF-8', () => {
    expect(() => parseClients(Buffer.from([0x5b, 0xff, 0x5d]))).toThrow('the file is not UTF-8');
  });
});

describe('credentials in a file of clients', () => {
  const nowMs = Date.parse('2026-06-01T00:00:00Z');

  it('are found by the secret until the secret ends', () => {
    const ends = '2026-06-01T00:00:10Z';
    const credentials = indexClients(parse(withSecrets({ sha256: hash, expiresAt: ends })));
    expect(credentials.find(secret, nowMs).client.id).toBe('erp');
    expect(credentials.find(secret, nowMs + 9_999).caller.key).toBe(name);
    expect(() => credentials.find(secret, nowMs + 10_000)).toThrow(
      new TokenRefused(`the key ${name} of the client erp has ended`),
    );
  });

  it('are not found by a secret that no client has, nor by a hash', () => {
    const credentials = indexClients(parse([client()]));
    const stranger = makeSecret();
    expect(() => credentials.find(stranger.secret, nowMs)).toThrow(`no client has the key ${stranger.name}`);
    expect(() => credentials.find(hash, nowMs)).toThrow('its checksum does not match');
    expect(() =>
      credentials.find(`${secret.slice(0, -1)}${secret.endsWith('0') ? '1' : '0'}`, nowMs),
    ).toThrow('its checksum does not match');
  });

  it('keep their name and number of uses when the file changes, unless the secret moves to another client', () => {
    const plain = [client({ secrets: [`sha256:${hash}`] })];
    const before = indexClients(parse(plain));
    before.find(secret, nowMs).uses = 7;
    const same = indexClients(parse([...plain, client({ id: 'pim', secrets: [] })]), before);
    expect(same.all).toMatchObject([{ caller: { key: name }, uses: 7 }]);
    const moved = indexClients(parse([client({ id: 'pim', secrets: [`sha256:${hash}`] })]), before);
    expect(moved.all).toMatchObject([{ caller: { key: undefined }, uses: 0 }]);
  });
});
