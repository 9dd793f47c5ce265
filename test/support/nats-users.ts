// A nats-server as deploy/nats configures it, with a password of its own for each user.
import { randomBytes } from 'node:crypto';
import { copyFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { startEngine, type Engine } from '@integration-sync/dev/engines';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { makeFolder } from './folder.ts';
import { startNatsCluster } from './nats-cluster.ts';

export const services = ['gateway', 'catalog', 'batches', 'webhooks'] as const;
export const users = [...services, 'reader', 'ops', 'operator'] as const;
export type User = (typeof users)[number];

export interface Logins extends AsyncDisposable {
  readonly servers: readonly Engine[];
  /** The value of NATS_URL for the user. */
  urlOf(user: User): string;
  /** Connects with the plain NATS client, to the first or another server, and collects the refusals of nats-server. */
  connectAs(user: User, nth?: number): Promise<Raw>;
}

export interface NatsWithUsers extends Logins {
  readonly engine: Engine;
}

export interface NatsClusterWithUsers extends Logins {
  /** The file that the configuration of each server includes. */
  readonly conf: string;
}

export interface Raw extends AsyncDisposable {
  readonly nats: NatsConnection;
  readonly refusals: string[];
}

export const natsConfFile = fileURLToPath(new URL('../../deploy/nats/nats.conf', import.meta.url));

const makePasswords = (): Map<User, string> =>
  new Map(users.map((user) => [user, `p${randomBytes(12).toString('hex')}`]));

export async function startNatsWithUsers(
  natsConfig = natsConfFile,
  passwords: ReadonlyMap<User, string> = makePasswords(),
): Promise<NatsWithUsers> {
  const engine = await startEngine('nats', {
    dataFolder: await makeFolder(),
    temporary: true,
    natsConfig,
    environment: { ...process.env, ...variablesOf(passwords) },
  });
  return {
    engine,
    ...loginsOf([engine], passwords),
    [Symbol.asyncDispose]: () => engine[Symbol.asyncDispose](),
  };
}

/** Three nats-servers with the users and permissions of deploy/nats, or of another file. */
export async function startNatsClusterWithUsers(natsConfig = natsConfFile): Promise<NatsClusterWithUsers> {
  const passwords = makePasswords();
  const environment = { ...process.env, ...variablesOf(passwords) };
  const cluster = await startNatsCluster({ natsConfig, environment });
  return {
    ...loginsOf(cluster.servers, passwords),
    conf: join(cluster.folder, basename(natsConfig)),
    [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose](),
  };
}

/**
 * Brings running servers to another file, as docs/operating.md says: all read it twice, a second apart. After the first time
 * nats-server finds no subject of the account whose exports are new.
 */
export async function bringTo(natsConfig: string, conf: string, { servers }: Logins): Promise<void> {
  await copyFile(natsConfig, conf);
  const reload = (): void => {
    for (const pid of servers.flatMap((server) => server.pids())) process.kill(pid, 'SIGHUP');
  };
  reload();
  await wait(1_000);
  reload();
}

/** Deletes a consumer of EVENTS. */
export async function deleteConsumer(logins: Logins, name: string): Promise<void> {
  await using ops = await logins.connectAs('ops');
  await (await jetstreamManager(ops.nats)).consumers.delete('EVENTS', name);
}

const variablesOf = (passwords: ReadonlyMap<User, string>): Record<string, string> =>
  Object.fromEntries(
    Array.from(passwords, ([user, password]) => [`NATS_${user.toUpperCase()}_PASSWORD`, password]),
  );

const loginsOf = (servers: readonly Engine[], passwords: ReadonlyMap<User, string>) => ({
  servers,
  urlOf: (user: User) =>
    servers.map(({ url }) => url.replace('//', `//${user}:${passwords.get(user)}@`)).join(','),
  connectAs: (user: User, nth = 0) => connectRaw(servers[nth]?.url ?? '', user, passwords.get(user) ?? ''),
});

async function connectRaw(servers: string, user: string, pass: string): Promise<Raw> {
  const nats = await connect({ servers, user, pass, inboxPrefix: `_INBOX_${user}` });
  const refusals: string[] = [];
  const watch = async () => {
    for await (const status of nats.status())
      if (status.type === 'error') refusals.push(status.error.message);
  };
  void watch();
  return { nats, refusals, [Symbol.asyncDispose]: () => nats.close() };
}
