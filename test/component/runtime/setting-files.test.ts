// Secrets, and addresses that may hold one, in files of their own.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { BatchesConfig } from '@integration-sync/batches/config';
import { CatalogConfig } from '@integration-sync/catalog/config';
import { GatewayConfig } from '@integration-sync/gateway/config';
import { listSettings, readConfig, type Environment } from '@integration-sync/runtime/config';
import { WebhooksConfig } from '@integration-sync/webhooks/config';
import { Type, type TObject } from 'typebox';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { temporaryFolder, type TemporaryFolder } from '../../support/folder.ts';
import { problemsWith } from '../../support/settings.ts';

let folder: TemporaryFolder;
beforeAll(async () => {
  folder = await temporaryFolder();
});
afterAll(() => folder[Symbol.asyncDispose]());

async function fileWith(text: string): Promise<string> {
  const path = join(folder.path, crypto.randomUUID());
  await writeFile(path, text);
  return path;
}

const schema = Type.Object({
  KEY: Type.String({ secret: true, pattern: '^[a-z ]+$', expected: 'small letters' }),
  URL: Type.Optional(Type.String({ file: true })),
  PORT: Type.Optional(Type.Integer()),
});

const messageOf = (environment: Environment, of: TObject = schema): string => problemsWith(of, environment);

describe('a setting that may be in a file', () => {
  it.each([
    ['secret', 'secret'],
    ['secret\n', 'secret'],
    ['secret\r\n', 'secret'],
    [' secret ', ' secret '],
  ])('has the content of the file without the last newline: %j', async (text, value) => {
    expect(readConfig(schema, { KEY_FILE: await fileWith(text) })).toStrictEqual({ KEY: value });
  });

  it('keeps all newlines but the last', async () => {
    const path = await fileWith('one\ntwo\n\n');
    expect(readConfig(schema, { KEY: 'x', URL_FILE: path })).toStrictEqual({ KEY: 'x', URL: 'one\ntwo\n' });
  });

  it('is read once', async () => {
    const path = await fileWith('first');
    const config = readConfig(schema, { KEY_FILE: path });
    await writeFile(path, 'second');
    expect(config.KEY).toBe('first');
  });

  it('is refused where it is in the environment and in a file, and neither value is shown', async () => {
    const path = await fileWith('hunter');
    expect(messageOf({ KEY: 'hunter', KEY_FILE: path })).toBe(
      'KEY, KEY_FILE: expected one of them, got both',
    );
  });

  it.each(['KEY', 'KEY_FILE'])('counts as absent where %s is empty', async (name) => {
    const other = name === 'KEY' ? { KEY_FILE: await fileWith('x') } : { KEY: 'x' };
    expect(readConfig(schema, { ...other, [name]: '' })).toStrictEqual({ KEY: 'x' });
  });

  it('is refused with its path where the file is missing', () => {
    const path = join(folder.path, 'absent');
    expect(messageOf({ KEY_FILE: path })).toBe(
      `KEY_FILE: cannot read ${JSON.stringify(path)} (there is no such file)`,
    );
  });

  it('is refused where the path is that of a folder', () => {
    expect(messageOf({ KEY_FILE: folder.path })).toBe(
      `KEY_FILE: cannot read ${JSON.stringify(folder.path)} (it is a folder)`,
    );
  });

  it('is refused where the file is empty', async () => {
    const path = await fileWith('\n');
    expect(messageOf({ KEY_FILE: path })).toBe(`KEY_FILE: cannot read ${JSON.stringify(path)} (it is empty)`);
  });

  it('is refused, without its value, where the content of the file is wrong', async () => {
    const path = await fileWith('HUNTER2');
    expect(messageOf({ KEY_FILE: path })).toBe(
      `KEY: expected small letters, got 7 characters of ${JSON.stringify(path)} that are not shown`,
    );
  });

  it('is reported beside every other wrong setting', () => {
    const path = join(folder.path, 'absent');
    expect(messageOf({ KEY_FILE: path, PORT: 'x' }).split('\n')).toStrictEqual([
      `KEY_FILE: cannot read ${JSON.stringify(path)} (there is no such file)`,
      'PORT: expected an integer, got "x"',
    ]);
  });

  it('is not read from a file where the setting is no secret', async () => {
    expect(readConfig(schema, { KEY: 'x', PORT_FILE: await fileWith('1') })).toStrictEqual({ KEY: 'x' });
  });

  it('counts as set, also for a rule that needs one of two settings', async () => {
    const path = await fileWith('x'.repeat(32));
    expect(readConfig(GatewayConfig, { AUTH_JWT_SECRET_FILE: path }).AUTH_JWT_SECRET).toBe('x'.repeat(32));
    const absent = join(folder.path, 'absent');
    expect(messageOf({ AUTH_JWT_SECRET_FILE: absent }, GatewayConfig)).toBe(
      `AUTH_JWT_SECRET_FILE: cannot read ${JSON.stringify(absent)} (there is no such file)`,
    );
  });
});

it('every secret, and every address that may hold a password, may be in a file', () => {
  const all = [GatewayConfig, CatalogConfig, BatchesConfig, WebhooksConfig].flatMap((one) =>
    listSettings(one),
  );
  const inFile = new Set(all.filter((setting) => setting.inFile).map(({ name }) => name));
  expect([...inFile].toSorted()).toStrictEqual([
    'AUTH_JWT_SECRET',
    'MONGODB_URL',
    'NATS_CREDENTIALS',
    'NATS_NKEY_SEED',
    'NATS_PASSWORD',
    'NATS_TLS_CA',
    'NATS_TLS_CERT',
    'NATS_TLS_KEY',
    'NATS_TOKEN',
    'NATS_URL',
    'OTEL_EXPORTER_OTLP_HEADERS',
    'WEBHOOK_EGRESS_PROXY',
    'WEBHOOK_SECRET_KEY',
  ]);
  expect(all.filter(({ secret, inFile: may }) => secret && !may)).toStrictEqual([]);
});
