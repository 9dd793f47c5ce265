// Installs and starts the frameworks with which the service is compared ("rivals"). A rival is measured only after it has
// proved that it does the same work.
import { join, relative } from 'node:path';
import { signingSecretOf } from '@integration-sync/gateway/tokens/auth-settings';
import type { Bus } from '@integration-sync/runtime/bus';
import { runCommand } from '../process/command.ts';
import type { Stack } from '../stack/index.ts';
import { repositoryFolder } from '../stack/services.ts';
import { startChild } from './children.ts';
import { openClient, type Client } from './client.ts';
import type { Processes } from './cpu.ts';
import { itemsPerPush, makeItems, pushBody, suppliersPath } from './items.ts';
import { freshName } from './push.ts';

const rivalsFolder = join(import.meta.dirname, 'rivals');
/** The folder of the compiled rivals. */
const builtFolder = join(rivalsFolder, '.local');

/** Installs the rivals outside of the workspaces. tsc compiles them: NestJS needs decorators, which Node does not strip. */
export async function installRivals(say: (line: string) => void): Promise<void> {
  say('installing and compiling Fastify and NestJS in dev/bench/rivals');
  const install = ['install', '--no-save', '--prefer-offline', '--no-audit', '--no-fund'];
  await runCommand('npm', install, { folder: rivalsFolder });
  await runCommand(join(repositoryFolder, 'node_modules', '.bin', 'tsc'), ['-p', rivalsFolder]);
}

export interface Rival {
  name: string;
  url: string;
  client: Client;
  processes: Processes;
}

interface RivalSpec {
  name: string;
  /** The programs of the rival, by the names of their processes. Callers send requests to the last program. */
  programs: readonly (readonly [process: string, file: string])[];
}

export const rivals: readonly RivalSpec[] = [
  { name: 'Fastify', programs: [['Fastify', 'fastify.js']] },
  {
    name: 'NestJS',
    programs: [
      ['NestJS service', 'nest/service.js'],
      ['NestJS gateway', 'nest/gateway.js'],
    ],
  },
];

export const integration = 'bench';

export async function startRival(
  stack: Stack,
  { name, programs }: RivalSpec,
  ending: AsyncDisposableStack,
): Promise<Rival> {
  const told = {
    RIVAL_NATS: stack.nats,
    RIVAL_MONGODB: stack.mongodb,
    RIVAL_DATABASE: 'bench',
    RIVAL_NAME: streamOf(name),
    RIVAL_SECRET: secretOf(stack),
    NODE_ENV: 'production',
  };
  const processes: Record<string, readonly number[]> = {};
  let url = '';
  for (const [process, file] of programs) {
    const path = relative(import.meta.dirname, join(builtFolder, file));
    const child = ending.use(await startChild(path, [], told));
    processes[process] = [child.pid];
    url = String(child.greeting);
  }
  const client = ending.use(openClient(url, stack.token({ integration })));
  return { name, url, client, processes };
}

const streamOf = (name: string): string => `rival_${name.toLowerCase()}`;

function secretOf({ authSecret }: Stack): string {
  if (authSecret === undefined)
    throw new Error('the compared frameworks verify tokens by AUTH_JWT_SECRET alone; unset AUTH_JWKS_URL');
  return signingSecretOf(authSecret);
}

interface Answer {
  success: boolean;
  created: number;
  updated: number;
  errors: readonly { externalId: string }[];
  records: readonly { externalId: string; internalId: string; status: string }[];
}

/** Throws unless the rival does what the service does: new, unchanged, changed and wrong items, and their events. */
export async function proveRival({ name, client }: Rival, bus: Bus): Promise<void> {
  const items = makeItems(freshName());
  const push = async (some: readonly object[]): Promise<Answer> => {
    const { body } = await client.post(suppliersPath, pushBody(some));
    const answer = JSON.parse(body);
    if (Array.isArray(answer.records) && Array.isArray(answer.errors)) return answer;
    throw new Error(`${name} answered a push with ${body.slice(0, 200)}`);
  };
  const [first, ...rest] = items;
  const changed = { ...first, name: 'another name' };
  const created = await push(items);
  const again = await push(items);
  const mixed = await push([changed, { externalId: 'wrong', name: 5 }, ...rest.slice(1)]);
  const events = await bus.countMessages(streamOf(name), `${streamOf(name)}.events.>`);
  const seen = {
    created: [created.success, created.created, created.records.length, created.records[0]?.status],
    again: [again.updated, again.records[0]?.status, again.records[0]?.internalId],
    mixed: [mixed.success, mixed.updated, mixed.errors.map(({ externalId }) => externalId).join()],
    wrong: [mixed.records[1]?.status],
    events: [events],
  };
  const expected = {
    created: [true, itemsPerPush, itemsPerPush, 'CREATED'],
    again: [itemsPerPush, 'UPDATED', created.records[0]?.internalId],
    mixed: [false, itemsPerPush - 1, 'wrong'],
    wrong: ['ERROR'],
    // One event for each new supplier, one for the changed supplier, and one for each of three pushes.
    events: [itemsPerPush + 1 + 3],
  };
  if (JSON.stringify(seen) === JSON.stringify(expected)) return;
  throw new Error(
    `${name} gave wrong results: expected ${JSON.stringify(expected)}, got ${JSON.stringify(seen)}`,
  );
}
