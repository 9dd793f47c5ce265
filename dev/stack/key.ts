// The clients of the local stack, and the key that `npm start` shows. The stack makes both at its first start and keeps them in
// its folder, so that a pasted key stays valid after a restart. Only this user may read the key.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { allScopes } from '@integration-sync/contracts';
import { hashOf, makeSecret } from '@integration-sync/gateway/operating';
import type { Environment } from '../engines/environment.ts';
import { readText, writeJson, writeWhole } from '../process/files.ts';

export interface LocalKey {
  /** The value of AUTH_CLIENTS_FILE for the gateway. */
  clientsFile: string;
  /** Undefined where the environment names a file of its own, or where the client was removed. */
  key: string | undefined;
}

export const clientsFileOf = (folder: string): string => join(folder, 'clients.json');

export function openKey(folder: string, environment: Environment): LocalKey {
  const ownFile = environment['AUTH_CLIENTS_FILE'];
  if (ownFile) return { clientsFile: ownFile, key: undefined };
  const clientsFile = clientsFileOf(folder);
  const keyFile = join(folder, 'key');
  if (!existsSync(clientsFile)) {
    const { secret, name } = makeSecret();
    const acme = { id: 'acme', integration: 'acme', scope: allScopes.join(' ') };
    writeWhole(keyFile, `${secret}\n`, 0o600);
    writeJson(clientsFile, [{ ...acme, secrets: [{ name, sha256: hashOf(secret) }] }], 0o600);
  }
  const key = readText(keyFile)?.trim();
  const isThere = key !== undefined && readText(clientsFile)?.includes(hashOf(key)) === true;
  return { clientsFile, key: isThere ? key : undefined };
}
