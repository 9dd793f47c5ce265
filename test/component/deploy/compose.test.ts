// The compose files beside what the services read, and the secrets beside what makes them. Whether the containers run is tried
// with Docker (docs/running.md).
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { configs } from '@integration-sync/dev/configs';
import { listSettings, readConfig } from '@integration-sync/runtime/config';
import { describe, expect, it } from 'vitest';
import { ofKind, readRendered } from '../../support/chart.ts';
import {
  makeClusterSecrets,
  readCompose,
  readSecret,
  toldBy,
  type ComposeService,
} from '../../support/compose.ts';
import { repository } from '../../support/deploy-files.ts';
import { useFolder } from '../../support/use-folder.ts';

const folder = useFolder();

const single = await readCompose('docker-compose.yml');
const cluster = await readCompose('compose.cluster.yml');
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
  it('gets only settings of its service', () => {
    const known = new Set(listSettings(configs[of]).map(({ name }) => name));
    const told = Object.keys(service.environment ?? {});
    expect(told.filter((name) => !known.has(name) && !known.has(name.replace(/_FILE$/, '')))).toEqual([]);
  });

  it('has a health check on /ready that starts no Node process', () => {
    expect(service.healthcheck?.test?.join(' ')).toMatch(
      /^CMD bash (-c bash )?healthcheck\.sh 9464 \/ready( \|\||$)/,
    );
  });

  it('may write nowhere, and has no capabilities and bounded logs', () => {
    expect(service).toMatchObject({ read_only: true, cap_drop: ['ALL'] });
    expect(service.logging?.options).toEqual({ 'max-size': '10m', 'max-file': '5' });
  });
});

const namesOf = ({ environment = {} }: ComposeService = { image: '' }): string[] => Object.keys(environment);

describe.each([
  ['docker-compose.yml', single],
  ['compose.cluster.yml', cluster],
] as const)('the container ops of %s', (_file, { services }) => {
  const { ops, webhooks = services['webhooks-1'] } = services;

  it('never starts by itself, and runs a command of the image', () => {
    expect(ops).toMatchObject({ profiles: ['ops'], entrypoint: ['node', 'ops'], image: webhooks?.image });
    expect(ops).toMatchObject({ restart: 'no', read_only: true, cap_drop: ['ALL'] });
  });

  it('gets the settings of webhooks except WEBHOOK_EGRESS_ALLOW, and reaches MongoDB and NATS by the same networks', () => {
    expect(namesOf(ops).toSorted()).toEqual(
      namesOf(webhooks)
        .filter((name) => name !== 'WEBHOOK_EGRESS_ALLOW')
        .toSorted(),
    );
    const inside = [webhooks?.networks ?? []].flat().filter((name) => name === 'bus' || name === 'store');
    expect(ops?.networks ?? []).toEqual(inside);
  });
});

it.each([
  ['docker-compose.yml', single],
  ['compose.cluster.yml', cluster],
] as const)('%s builds each image once, and runs only images that it builds', (_file, { services }) => {
  const all = Object.values(services);
  const made = all.filter(({ build }) => build !== undefined).map(({ image }) => image);
  expect(new Set(made).size).toBe(made.length);
  const run = all.filter(({ image }) => image.includes('integration-sync')).map(({ image }) => image);
  expect(new Set(run)).toEqual(new Set(made));
});

it('the monitoring of nats-server is open to its own machine only', async () => {
  for (const file of ['docker-compose.yml', 'compose.cluster.yml', 'deploy/nats/nats.conf']) {
    const text = await readFile(join(repository, file), 'utf8');
    const opened = [...text.matchAll(/^\s*http:\s*"?([^"\s]+)"?$/gm)].map(([, address]) => address);
    expect(opened).toEqual(file === 'compose.cluster.yml' ? [] : ['127.0.0.1:8222']);
    expect(text).not.toMatch(/NATS_MONITOR_URL: \S*http/);
  }
});

it('webhooks may deliver to the network of the receiver, and to no other private network', () => {
  const { receiver, webhooks } = single.services;
  const [subnet, ...others] = single.networks?.['receivers']?.ipam?.config.map((one) => one.subnet) ?? [];
  expect(others).toEqual([]);
  expect(webhooks?.environment?.['WEBHOOK_EGRESS_ALLOW']).toBe(`\${WEBHOOK_EGRESS_ALLOW:-${subnet}}`);
  const [alias] = /\/\/([^:]+):9000/.exec(receiver?.command?.at(-1) ?? '')?.slice(1) ?? [];
  expect(receiver?.networks).toMatchObject({ receivers: { aliases: [alias] } });
  expect(webhooks?.networks).toEqual(['default', 'receivers']);
  expect(receiver?.profiles).toEqual(['receiver']);
});

it('the documented end of the containers ends the receiver too, which its profile hides from a plain down', async () => {
  const page = await readFile(join(repository, 'docs/running.md'), 'utf8');
  const [profile] = single.services['receiver']?.profiles ?? [];
  expect(page).toContain(`docker compose --profile ${profile} down ends it`);
});

describe('the cluster', () => {
  const containers = Object.entries(cluster.services);

  it('has three servers of each engine and two replicas of each service behind the proxy', () => {
    expect(Object.keys(cluster.services).toSorted()).toEqual(
      [
        ...['batches', 'catalog', 'gateway', 'webhooks'].flatMap((name) => [`${name}-1`, `${name}-2`]),
        ...['mongodb', 'nats'].flatMap((name) => [`${name}-1`, `${name}-2`, `${name}-3`]),
        'mongodb-join',
        'ops',
        'proxy',
        'streams',
      ].toSorted(),
    );
  });

  it('makes its streams with the login of operators before services that store data start', () => {
    const { streams, ops } = cluster.services;
    expect(streams).toMatchObject({ command: ['streams', '--apply'], entrypoint: ['node', 'ops'] });
    expect(streams?.environment).toEqual(ops?.environment);
    for (const name of ['catalog-1', 'batches-2', 'webhooks-1'])
      expect(cluster.services[name]).toMatchObject({
        depends_on: { streams: { condition: 'service_completed_successfully' } },
      });
  });

  it.each(['nats-1', 'nats-2', 'nats-3'])('stops %s by lame duck mode, so that no request fails', (name) => {
    expect(cluster.services[name]).toMatchObject({ stop_signal: 'SIGUSR2', stop_grace_period: '30s' });
  });

  it('has the same health check as the chart’s startup probe, which release 1.1.0 passes too', async () => {
    const { objects } = await readRendered('defaults');
    const [container] = ofKind(objects, 'Deployment')[0]?.spec?.template.spec?.containers ?? [];
    const probe = ['CMD', ...(container?.startupProbe?.exec?.command ?? [])];
    for (const name of ['gateway-1', 'catalog-2', 'batches-1', 'webhooks-2'])
      expect(cluster.services[name]?.healthcheck?.test).toEqual(probe);
  });

  it.each(containers)('bounds memory, processor and logs of %s', (_name, { deploy, logging }) => {
    expect(deploy?.resources?.limits).toEqual({ cpus: '1', memory: expect.stringMatching(/^\d+[MG]$/) });
    expect(logging?.options).toEqual({ 'max-size': '10m', 'max-file': '5' });
  });

  it.each(containers)('gives secrets to %s only as files', (_name, { environment = {}, secrets = [] }) => {
    const hidden = /PASSWORD|SECRET|MONGODB_URL|NATS_URL/;
    for (const [setting, value] of Object.entries(environment)) {
      if (!hidden.test(setting)) continue;
      expect(setting).toMatch(/_FILE$/);
      expect(secrets).toContain(String(value).replace(/^\/run\/secrets\//, ''));
    }
  });

  it('names only secrets that the script of the cluster makes and services read, and only existing files', async () => {
    const secret = (name: string): Promise<string> => readSecret(folder.path, name);
    await makeClusterSecrets(folder.path);
    const before = await secret('auth-jwt-secret');
    await makeClusterSecrets(folder.path);
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
      const told = await toldBy(service, secret);
      expect(() => readConfig(configs[of], told)).not.toThrow();
    }
  });

  it('has a password for each user of deploy/nats/nats.conf', async () => {
    await makeClusterSecrets(folder.path);
    const conf = await readFile(join(repository, 'deploy/nats/nats.conf'), 'utf8');
    const needed = [...conf.matchAll(/password: \$(\w+)/g)].map(([, name = '']) => name);
    const made = (await readFile(join(folder.path, 'nats-passwords'), 'utf8')).matchAll(/^(\w+)=\w{32,}$/gm);
    expect([...made].map(([, name = '']) => name).toSorted()).toEqual(needed.toSorted());
  });
});
