// The compose files of the repository as docker compose reads them, and the secrets that compose.cluster.yml mounts.
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { repository } from './deploy-files.ts';

export interface ComposeService {
  image: string;
  build?: object;
  profiles?: string[];
  entrypoint?: string[];
  command?: string[];
  environment?: Record<string, string | number>;
  secrets?: string[];
  networks?: string[] | Record<string, { aliases?: string[] } | null>;
  configs?: { source: string; target: string }[];
  logging?: { options?: Record<string, string> };
  deploy?: { resources?: { limits?: Record<string, string> } };
  healthcheck?: { test?: string[] };
  read_only?: boolean;
  cap_drop?: string[];
}

export interface ComposeFile {
  services: Record<string, ComposeService>;
  configs: Record<string, { file?: string }>;
  secrets?: Record<string, { file: string }>;
  networks?: Record<string, { ipam?: { config: { subnet: string }[] } } | null>;
}

export const readCompose = async (file: 'docker-compose.yml' | 'compose.cluster.yml'): Promise<ComposeFile> =>
  parse(await readFile(join(repository, file), 'utf8'), { merge: true }) as ComposeFile;

export async function makeClusterSecrets(folder: string): Promise<void> {
  await promisify(execFile)('bash', [join(repository, 'deploy/cluster/make-secrets.sh'), folder]);
}

export const readSecret = async (folder: string, name: string): Promise<string> =>
  (await readFile(join(folder, name), 'utf8')).trim();

/** The environment of a service if the shell sets no variable; for `X_FILE`, X with the content of the secret. */
export async function toldBy(
  { environment = {} }: ComposeService,
  secret: (name: string) => Promise<string>,
): Promise<Record<string, string>> {
  const told: Record<string, string> = {};
  for (const [setting, value] of Object.entries(environment)) {
    const [, name] = /^(\w+)_FILE$/.exec(setting) ?? [];
    if (name === undefined) told[setting] = String(value).replace(/^\$\{\w+:-(.*)\}$/, '$1');
    else told[name] = await secret(String(value).replace('/run/secrets/', ''));
  }
  return told;
}
