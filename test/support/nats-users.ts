// A nats-server as deploy/nats configures it, with a password of its own for each user.
import { randomBytes } from 'node:crypto';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startEngine, type Engine } from '@integration-sync/dev/engines';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { folderPrefix } from './folder.ts';

export const services = ['gateway', 'catalog', 'batches', 'webhooks'] as const;
export const users = [...services, 'reader', 'ops', 'operator'] as const;
export type User = (typeof users)[number];

export interface NatsWithUsers extends AsyncDisposable {
  readonly engine: Engine;
  /** The value of NATS_URL for the user. */
  urlOf(user: User): string;
  /** Connects with the plain NATS client, and collects the refusals of nats-server. */
  connectAs(user: User): Promise<Raw>;
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
  const variables = Array.from(passwords, ([user, password]) => [
    `NATS_${user.toUpperCase()}_PASSWORD`,
    password,
  ]);
  const engine = await startEngine('nats', {
    dataFolder: await mkdtemp(join(tmpdir(), folderPrefix)),
    temporary: true,
    natsConfig,
    environment: { ...process.env, ...Object.fromEntries(variables) },
  });
  return {
    engine,
    urlOf: (user) => engine.url.replace('//', `//${user}:${passwords.get(user)}@`),
    connectAs: (user) => connectRaw(engine.url, user, passwords.get(user) ?? ''),
    [Symbol.asyncDispose]: () => engine[Symbol.asyncDispose](),
  };
}

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
