import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { hashOf, parseClients } from '@integration-sync/gateway/operating';
import { expect, it } from 'vitest';
import { clientsFileOf, openKey } from '../../../dev/stack/key.ts';
import { useFolder } from '../../support/use-folder.ts';

const temporary = useFolder();

it('the local key of npm start is made once, readable for its user alone, with every scope', () => {
  const folder = temporary.path;
  const made = openKey(folder, {});
  expect(made.clientsFile).toBe(clientsFileOf(folder));
  const [client] = parseClients(readFileSync(made.clientsFile));
  expect(client).toMatchObject({ id: 'acme', integration: 'acme' });
  expect(client?.scopes).toContain('integration:suppliers:write');
  expect(client?.secrets.map(({ sha256 }) => sha256)).toEqual([hashOf(made.key ?? '')]);
  for (const name of ['key', 'clients.json']) expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600);
  expect(openKey(folder, {})).toEqual(made);
});

it('the local key of npm start is not shown once its client is removed, and is not made again', () => {
  const folder = temporary.path;
  const { clientsFile } = openKey(folder, {});
  writeFileSync(clientsFile, '[]');
  expect(openKey(folder, {})).toEqual({ clientsFile, key: undefined });
  expect(readFileSync(clientsFile, 'utf8')).toBe('[]');
});

it('npm start makes no local key where AUTH_CLIENTS_FILE is set', () => {
  const folder = temporary.path;
  const clientsFile = '/elsewhere/clients.json';
  expect(openKey(folder, { AUTH_CLIENTS_FILE: clientsFile })).toEqual({ clientsFile, key: undefined });
});
