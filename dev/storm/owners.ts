// Replicas of webhooks that reach NATS and MongoDB through proxy processes of their own ("ways"): freezing a way
// partitions its replica from that engine, and killing it breaks the connections.
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { readJson, writeJson } from '../process/files.ts';
import { readFacts } from '../stack/facts.ts';
import type { Stack } from '../stack/index.ts';
import { startReplica, type Replica, type ReplicaOptions } from '../stack/replica.ts';
import type { Target } from './fault.ts';
import { stackFolderOf } from './plan.ts';
import { programOf } from './programs.ts';

export interface Owners extends AsyncDisposable {
  /** The pids of the replicas and of their ways. */
  pids(): number[];
}

type Pids = Partial<Record<Target, number[]>>;

export interface OwnersOptions extends Pick<ReplicaOptions, 'environment' | 'ledger' | 'onDeath'> {
  folder: string;
  stack: Stack;
  count: number;
}

const fileOf = (folder: string): string => join(folder, 'owners.json');
const isPids = (value: unknown): value is Pids => typeof value === 'object' && value !== null;

export function pidsOfOwners(folder: string): Pids {
  const value = readJson(fileOf(folder));
  return isPids(value) ? value : {};
}

export async function startOwners(options: OwnersOptions): Promise<Owners> {
  const { folder, stack, count, ...ofReplica } = options;
  await using starting = new AsyncDisposableStack();
  const replicas: Replica[] = [];
  const ways: { target: Target; way: Way }[] = [];
  const note = (): void => {
    const pids: Pids = { webhooks: replicas.flatMap(({ child }) => child.pid() ?? []) };
    for (const { target, way } of ways) (pids[target] ??= []).push(...way.pids());
    writeJson(fileOf(folder), pids);
  };
  const wayTo = async (target: Target, port: number): Promise<number> => {
    const way = starting.use(await startWay(port, note));
    ways.push({ target, way });
    return way.port;
  };
  const settings = readFacts(stackFolderOf(folder))?.settings.webhooks;
  for (let nth = 0; nth < count; nth += 1) {
    const [nats, mongodb] = [new URL(stack.nats), new URL(stack.mongodb)];
    nats.port = String(await wayTo('webhooks-nats', Number(nats.port)));
    mongodb.port = String(await wayTo('webhooks-mongodb', Number(mongodb.port)));
    const replica = await startReplica({
      ...ofReplica,
      service: 'webhooks',
      number: nth + 2,
      settings: { ...settings, NATS_URL: nats.href, MONGODB_URL: mongodb.href },
      main: programOf('webhooks'),
      logFolder: stack.logFolder,
      stopWithinMs: 10_000,
      onTrouble: () => undefined,
      onChange: note,
    });
    replicas.push(replica);
    starting.defer(() => replica.child.stop());
  }
  note();
  const running = starting.move();
  return {
    pids: () => Object.values(pidsOfOwners(folder)).flat(),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

interface Way extends AsyncDisposable {
  readonly port: number;
  pids(): number[];
}

/** Starts a proxy to a port; a proxy that dies is started again on the same port. */
async function startWay(to: number, onChange: () => void): Promise<Way> {
  let isEnding = false;
  let child: ChildProcess;
  const start = async (port: number): Promise<number> => {
    child = fork(join(import.meta.dirname, 'way.ts'), [String(to), String(port)]);
    child.once('exit', () => {
      if (!isEnding) void start(listening);
    });
    const [taken]: unknown[] = await once(child, 'message');
    onChange();
    return Number(taken);
  };
  let listening = 0;
  listening = await start(0);
  return {
    port: listening,
    pids: () => (child.pid === undefined || child.exitCode !== null ? [] : [child.pid]),
    async [Symbol.asyncDispose]() {
      isEnding = true;
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
    },
  };
}
