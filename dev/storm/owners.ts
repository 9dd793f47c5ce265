// Replicas of webhooks that reach NATS and MongoDB through proxy processes of their own ("ways"): freezing a way
// partitions its replica from that engine, and killing it breaks the connections.
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { readFacts } from '../stack/facts.ts';
import type { Stack } from '../stack/index.ts';
import { startReplica, type Replica, type ReplicaOptions } from '../stack/replica.ts';
import type { Target } from './fault.ts';
import { stackFolderOf, type Live } from './plan.ts';
import { programOf } from './programs.ts';

export interface OwnersOptions {
  folder: string;
  stack: Stack;
  count: number;
  ofReplica: Omit<ReplicaOptions, 'service' | 'number' | 'settings' | 'main' | 'onChange'>;
  /** Gets the pids of the replicas and of their ways. */
  onChange: (owners: Live['owners']) => void;
}

export async function startOwners(options: OwnersOptions): Promise<AsyncDisposable> {
  const { folder, stack, count, ofReplica, onChange } = options;
  await using starting = new AsyncDisposableStack();
  const replicas: Replica[] = [];
  const ways: { target: Target; way: Way }[] = [];
  const note = (): void => {
    const pids: Live['owners'] = { webhooks: replicas.flatMap(({ child }) => child.pid() ?? []) };
    for (const { target, way } of ways) (pids[target] ??= []).push(...way.pids());
    onChange(pids);
  };
  const wayTo = async (target: Target, url: string): Promise<string> => {
    const to = new URL(url);
    const way = starting.use(await startWay(Number(to.port), note));
    ways.push({ target, way });
    to.port = String(way.port);
    return to.href;
  };
  const settings = readFacts(stackFolderOf(folder))?.settings.webhooks;
  for (let nth = 0; nth < count; nth += 1) {
    const replica = await startReplica({
      ...ofReplica,
      service: 'webhooks',
      number: nth + 2,
      settings: {
        ...settings,
        NATS_URL: await wayTo('webhooks-nats', stack.nats),
        MONGODB_URL: await wayTo('webhooks-mongodb', stack.mongodb),
      },
      main: programOf('webhooks'),
      onChange: note,
    });
    replicas.push(replica);
    starting.defer(() => replica.child.stop());
  }
  note();
  return starting.move();
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
