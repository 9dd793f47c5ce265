// The compose files beside what the services read, and the secrets beside what makes them. Whether the containers run is tried
// with Docker (docs/running.md).
import { execFile } from 'node:child_process';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { configs } from '@integration-sync/dev/configs';
import { listSettings, readConfig } from '@integration-sync/runtime/config';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { repository } from '../../support/deploy-files.ts';
import { temporaryFolder } from '../../support/folder.ts';

interface ComposeService {
  image: string;
  command?: string[];
  environment?: Record<string, string | number>;
  secrets?: string[];
  configs?: { source: string; target: string }[];
  logging?: { options?: Record<string, string> };
  deploy?: { resources?: { limits?: Record<string, string> } };
  healthcheck?: { test?: string[] };
  read_only?: boolean;
  cap_drop?: string[];
}

interface ComposeFile {
  services: Record<string, ComposeService>;
  configs: Record<string, { file?: string }>;
  secrets?: Record<string, { file: string }>;
}

const read = async (file: string): Promise<ComposeFile> =>
  parse(await readFile(join(repository, file), 'utf8'), { merge: true }) as ComposeFile;

const single = await read('docker-compose.yml');
const cluster = await read('compose.cluster.yml');
const secretsFolder = /^\$\{SECRETS_DIR:-[^}]+\}/;

/** Which of ours a container runs. */
function serviceOf({ command = [] }: ComposeService): keyof typeof configs | undefined {
  const [, name = ''] = /^services\/(\w+)\/src\/main\.ts$/.exec(command[0] ?? '') ?? [];
  return name in configs ? (name as keyof typeof configs) : undefined;
}

const ours = [single, cluster].flatMap(({ services }) =>
  Object.entries(services).flatMap(([name, service]) => {
    const of = serviceOf(service);
    return of === undefined ? [] : [{ name, of, service }];
  }),
);

describe.each(ours)('the container $name', ({ of, service }) => {
  it('is told settings that its service has', () => {
    const known = new Set(listSettings(configs[of]).map(({ name }) => name));
    const told = Object.keys(service.environment ?? {});
    expect(told.filter((name) => !known.has(name) && !known.has(name.replace(/_FILE$/, '')))).toEqual([]);
  });

  it('asks a health check that starts no Node', () => {
    expect(service.healthcheck?.test?.slice(0, 3)).toEqual(['CMD', 'bash', 'healthcheck.sh']);
  });

  it('may write nowhere, and has no capabilities and bounded logs', () => {
    expect(service).toMatchObject({ read_only: true, cap_drop: ['ALL'] });
    expect(service.logging?.options).toEqual({ 'max-size': '10m', 'max-file': '5' });
  });
});

describe('the cluster', () => {
  const containers = Object.entries(cluster.services);

  it('has three of each engine and two of each service behind the proxy', () => {
    expect(Object.keys(cluster.services).toSorted()).toEqual(
      [
        ...['batches', 'catalog', 'gateway', 'webhooks'].flatMap((name) => [`${name}-1`, `${name}-2`]),
        ...['mongodb', 'nats'].flatMap((name) => [`${name}-1`, `${name}-2`, `${name}-3`]),
        'mongodb-join',
        'proxy',
      ].toSorted(),
    );
  });

  it.each(containers)('bounds memory, processor and logs of %s', (_name, { deploy, logging }) => {
    expect(deploy?.resources?.limits).toEqual({ cpus: '1', memory: expect.stringMatching(/^\d+[MG]$/) });
    expect(logging?.options).toEqual({ 'max-size': '10m', 'max-file': '5' });
  });

  it.each(containers)('gives %s no secret but as a file', (_name, { environment = {}, secrets = [] }) => {
    const hidden = /PASSWORD|SECRET|MONGODB_URL|NATS_URL/;
    for (const [setting, value] of Object.entries(environment)) {
      if (!hidden.test(setting)) continue;
      expect(setting).toMatch(/_FILE$/);
      expect(secrets).toContain(String(value).replace(/^\/run\/secrets\//, ''));
    }
  });

  it('names secrets that its script makes, which the services take, and files that there are', async () => {
    await using folder = await temporaryFolder();
    const script = join(repository, 'deploy/cluster/make-secrets.sh');
    const secret = async (name: string): Promise<string> =>
      (await readFile(join(folder.path, name), 'utf8')).trim();
    await promisify(execFile)('bash', [script, folder.path]);
    const before = await secret('auth-jwt-secret');
    await promisify(execFile)('bash', [script, folder.path]);
    expect(await secret('auth-jwt-secret')).toBe(before);
    expect((await stat(folder.path)).mode & 0o777).toBe(0o700);

    const files = Object.entries(cluster.secrets ?? {});
    const used = new Set(containers.flatMap(([, { secrets = [] }]) => secrets));
    expect(files.map(([name]) => name).toSorted()).toEqual([...used].toSorted());
    for (const [name, { file }] of files) {
      expect(file.replace(secretsFolder, '')).toBe(`/${name}`);
      expect(await secret(name)).toMatch(/\S/);
    }
    for (const { file = '' } of Object.values(cluster.configs)) {
      expect((await stat(join(repository, file))).isFile()).toBe(true);
    }
    for (const { of, service } of ours.filter(({ name }) => name in cluster.services)) {
      const told: Record<string, string> = {};
      for (const [setting, value] of Object.entries(service.environment ?? {})) {
        const [, name] = /^(\w+)_FILE$/.exec(setting) ?? [];
        if (name === undefined) told[setting] = String(value).replace(/^\$\{\w+:-(.*)\}$/, '$1');
        else told[name] = await secret(String(value).replace('/run/secrets/', ''));
      }
      expect(() => readConfig(configs[of], told)).not.toThrow();
    }
  });

  it('has a password for each user of deploy/nats/nats.conf', async () => {
    await using folder = await temporaryFolder();
    await promisify(execFile)('bash', [join(repository, 'deploy/cluster/make-secrets.sh'), folder.path]);
    const conf = await readFile(join(repository, 'deploy/nats/nats.conf'), 'utf8');
    const needed = [...conf.matchAll(/password: \$(\w+)/g)].map(([, name = '']) => name);
    const made = (await readFile(join(folder.path, 'nats-passwords'), 'utf8')).matchAll(/^(\w+)=\w{32,}$/gm);
    expect([...made].map(([, name = '']) => name).toSorted()).toEqual(needed.toSorted());
  });
});
