import { CatalogConfig } from '@integration-sync/catalog/config';
import { GatewayConfig } from '@integration-sync/gateway/config';
import { natsOptionsOf, readConfig } from '@integration-sync/runtime/config';
import { describe, expect, it } from 'vitest';
import { maskSettings } from '../../../shared/runtime/src/config/mask-settings.ts';

const seed = `SU${'A'.repeat(56)}`;
const credentials =
  `-----BEGIN NATS USER JWT-----\nx.y.z\n------END NATS USER JWT------\n` +
  `-----BEGIN USER NKEY SEED-----\n${seed}\n------END USER NKEY SEED------\n`;
const url = 'nats://a:1';

describe('the settings of NATS', () => {
  it.each([
    [{}, { url: 'nats://127.0.0.1:4222' }],
    [
      { NATS_USER: 'me', NATS_PASSWORD: 'x' },
      { url, login: { user: 'me', pass: 'x' } },
    ],
    [{ NATS_TOKEN: 't0ken' }, { url, login: { token: 't0ken' } }],
    [{ NATS_NKEY_SEED: seed }, { url, login: { nkeySeed: seed } }],
    [{ NATS_CREDENTIALS: credentials }, { url, login: { credentials } }],
    [{ NATS_JETSTREAM_DOMAIN: 'hub' }, { url, jetstream: { domain: 'hub' } }],
    [{ NATS_JETSTREAM_PREFIX: 'js.events.API' }, { url, jetstream: { apiPrefix: 'js.events.API' } }],
  ])('%j become options of its client', (settings, options) => {
    const given = Object.keys(settings).length === 0 ? {} : { NATS_URL: url };
    expect(natsOptionsOf(readConfig(CatalogConfig, { ...given, ...settings }))).toStrictEqual(options);
  });

  it('are the same for the gateway, which has no streams', () => {
    const config = readConfig(GatewayConfig, { AUTH_JWT_SECRET: 'x'.repeat(32), NATS_NKEY_SEED: seed });
    expect(natsOptionsOf(config)).toStrictEqual({ url: 'nats://127.0.0.1:4222', login: { nkeySeed: seed } });
  });
});

describe('settings of NATS that exclude each other', () => {
  it.each<[Record<string, string>, string]>([
    [
      { NATS_URL: 'nats://me:x@a:1', NATS_NKEY_SEED: seed },
      'expected one login at NATS, got NATS_URL and NATS_NKEY_SEED',
    ],
    [
      { NATS_URL: 'nats://t0ken@a:1', NATS_TOKEN: 'other' },
      'expected one login at NATS, got NATS_URL and NATS_TOKEN',
    ],
    [
      { NATS_TOKEN: 'x', NATS_CREDENTIALS: credentials, NATS_USER: 'me', NATS_PASSWORD: 'x' },
      'expected one login at NATS, got NATS_USER and NATS_TOKEN and NATS_CREDENTIALS',
    ],
    [{ NATS_USER: 'me' }, 'expected NATS_USER and NATS_PASSWORD together, got NATS_USER'],
    [{ NATS_PASSWORD: 'x' }, 'expected NATS_USER and NATS_PASSWORD together, got NATS_PASSWORD'],
    [
      { NATS_JETSTREAM_DOMAIN: 'hub', NATS_JETSTREAM_PREFIX: 'js.API' },
      'expected NATS_JETSTREAM_DOMAIN or NATS_JETSTREAM_PREFIX, got both',
    ],
    [
      { NATS_NKEY_SEED: 'SUhunter2' },
      'NATS_NKEY_SEED: expected the seed of a user, which begins with SU, got 9 characters that are not shown',
    ],
    [
      { NATS_CREDENTIALS: seed },
      'NATS_CREDENTIALS: expected a credentials file, with the JWT of a user and its seed, got 58 characters that are not shown',
    ],
    [
      { NATS_JETSTREAM_PREFIX: 'js.>' },
      'NATS_JETSTREAM_PREFIX: expected a subject without wildcards, such as js.events.API, got "js.>"',
    ],
  ])('%j are refused', (settings, problem) => {
    expect(() => readConfig(CatalogConfig, settings)).toThrow(expect.objectContaining({ message: problem }));
  });

  it('are reported beside all other problems', () => {
    const settings = { NATS_USER: 'me', METRICS_PORT: 'x' };
    expect(() => readConfig(CatalogConfig, settings)).toThrow(
      expect.objectContaining({
        message:
          'METRICS_PORT: expected an integer from 0 to 65535, got "x"\n' +
          'expected NATS_USER and NATS_PASSWORD together, got NATS_USER',
      }),
    );
  });
});

it('settings of NATS are shown without their secrets', () => {
  const secrets = [
    { NATS_USER: 'me', NATS_PASSWORD: 'hunter2' },
    { NATS_TOKEN: 'hunter2' },
    { NATS_NKEY_SEED: seed },
    { NATS_CREDENTIALS: credentials },
  ];
  for (const settings of secrets) {
    const shown = maskSettings(CatalogConfig, readConfig(CatalogConfig, settings));
    expect(Object.values(shown)).toContain('set, not shown');
    expect(JSON.stringify(shown)).not.toMatch(/hunter2|SUAAA|x\.y\.z/);
  }
});
