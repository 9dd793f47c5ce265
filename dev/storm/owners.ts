// Replicas of webhooks that reach NATS and MongoDB through proxy processes of their own ("ways"): freezing a way
// partitions its replica from that engine, and killing it breaks the connections.
import { join } from 'node:path';
import { startChild, type Child } from '../process/child.ts';
import { findPort } from '../process/port.ts';
import type { Stack } from '../stack/index.ts';
import type { Replica } from '../stack/replica.ts';
import type { Settings } from '../stack/services.ts';
import type { Target } from './fault.ts';
import type { Live } from './plan.ts';

export interface OwnersOptions {
  stack: Pick<Stack, 'nats' | 'mongodb'>;
  count: number;
  start: (number: number, own: Settings, onChange: () => void) => Promise<Replica>;
  /** Gets the pids of the replicas and of their ways. */
  onChange: (owners: Live['owners']) => void;
}

export async function startOwners({
  stack,
  count,
  start,
  onChange,
}: OwnersOptions): Promise<AsyncDisposable> {
  await using starting = new AsyncDisposableStack();
  const children: { target: Target; child: Child }[] = [];
  const note = (): void => {
    const pids: Live['owners'] = {};
    for (const { target, child } of children) (pids[target] ??= []).push(...[child.pid() ?? []].flat());
    onChange(pids);
  };
  const keep = (target: Target, child: Child): void => {
    children.push({ target, child: starting.use(child) });
    note();
  };
  const wayTo = async (target: Target, url: string): Promise<string> => {
    const way = new URL(url);
    way.port = String(await findPort());
    keep(target, await startWay(url, way.port, note));
    return way.href;
  };
  for (let nth = 0; nth < count; nth += 1) {
    const own = {
      NATS_URL: await wayTo('webhooks-nats', stack.nats),
      MONGODB_URL: await wayTo('webhooks-mongodb', stack.mongodb),
    };
    keep('webhooks', (await start(nth + 2, own, note)).child);
  }
  return starting.move();
}

/** A way that dies is started again on the same port. */
const startWay = (to: string, port: string, note: () => void): Promise<Child> =>
  startChild({
    name: `way to ${to}`,
    command: process.execPath,
    args: [join(import.meta.dirname, 'way.ts'), to, port],
    backoff: { firstMs: 100, maxMs: 100, settledAfterMs: 0 },
    readyWhen: /^open$/,
    stopWithinMs: 1_000,
    onStart: note,
    onDeath: note,
  });
