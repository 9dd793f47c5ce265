// Files of API clients (AUTH_CLIENTS_FILE) for tests, and the secrets whose hashes these files hold.
import { randomUUID } from 'node:crypto';
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { hashOf, makeSecret } from '@integration-sync/gateway/operating';
import { everyScope } from './access-tokens.ts';
import { temporaryFolder } from './folder.ts';

export interface TestSecret {
  secret: string;
  name: string;
  /** The entry of the secret in the file. */
  entry: { name: string; sha256: string; expiresAt?: string };
}

export function testSecret(expiresAt?: string): TestSecret {
  const { secret, name } = makeSecret();
  const entry = { name, sha256: hashOf(secret), ...(expiresAt === undefined ? {} : { expiresAt }) };
  return { secret, name, entry };
}

export const clientEntry = (
  id: string,
  secrets: readonly unknown[],
  changed: { integration?: string; scope?: string } = {},
): Record<string, unknown> => ({ id, integration: 'acme', scope: everyScope, secrets, ...changed });

export interface TestClientsFile extends AsyncDisposable {
  readonly path: string;
  /** Replaces the file by a rename, so that the gateway never reads half of it. */
  replace(content: unknown): Promise<void>;
}

export async function clientsFile(clients: unknown): Promise<TestClientsFile> {
  const folder = await temporaryFolder();
  const path = join(folder.path, 'clients.json');
  const replace = async (content: unknown): Promise<void> => {
    const draft = join(folder.path, randomUUID());
    await writeFile(draft, typeof content === 'string' ? content : JSON.stringify(content));
    await rename(draft, path);
  };
  await replace(clients);
  return { path, replace, [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose]() };
}
