// Carries out the faults of a cluster: strikes only nodes of this storm, keeps them away for their time, notes the new leaders, and
// waits until the cluster is whole again before the next strike.
import { setTimeout as wait } from 'node:timers/promises';
import { sendSignal } from '../../process/identity.ts';
import type { ClusterFault, ClusterTarget } from '../fault.ts';
import { clockMs, type LedgerFile } from '../ledger.ts';
import type { FaultLine, LeaderLine } from '../lines.ts';
import { readLive, type Node } from '../plan.ts';
import { isChildOf } from '../strike.ts';
import { until } from '../until.ts';
import { areWhole, assets, findLeaders, type Asset, type Leaders } from './nodes.ts';
import { changeCopies, roll, type RollOptions } from './rolls.ts';

export interface StrikesOptions extends RollOptions {
  stackPid: number;
  leaders: LedgerFile<LeaderLine>;
}

const lookEveryMs = 50;
const wholeLooks = { looksMax: 600, everyMs: lookEveryMs };

/** Carries out a fault; resolves when the cluster is whole again, or when the storm is to end. */
export async function carryOut(fault: ClusterFault, options: StrikesOptions): Promise<FaultLine> {
  const { target, kind } = fault;
  if (kind === 'roll') {
    const atMs = clockMs();
    if (target === 'copies') await changeCopies(fault.forMs, options);
    else await roll(target === 'services' ? target : 'nodes', options);
    return { target, kind, pid: 0, atMs, untilMs: clockMs() };
  }
  return strike(fault, options);
}

async function strike({ target, kind, forMs }: ClusterFault, options: StrikesOptions): Promise<FaultLine> {
  const { folder, signal } = options;
  const before = await findAllLeaders(options);
  const struck = new Set(chooseNodes(target, before, readLive(folder).nodes));
  const own = (): Node[] => readLive(folder).nodes.filter(({ name }) => struck.has(name));
  const [first] = own();
  const atMs = clockMs();
  const watch = openWatch(before, struck, { ...options, lostMs: atMs });
  const signalAll = (name: NodeJS.Signals): void => {
    for (const { pid } of own()) {
      if (pid !== undefined && isChildOf(pid, options.stackPid)) sendSignal(pid, name);
    }
  };
  signalAll(kind === 'kill' ? 'SIGKILL' : 'SIGSTOP');
  try {
    while (!signal.aborted && clockMs() < atMs + forMs) {
      if (kind === 'kill') signalAll('SIGKILL');
      const others = readLive(folder).nodes.filter(({ name }) => !struck.has(name));
      await Promise.all([watch.look(others), wait(lookEveryMs)]);
    }
  } finally {
    if (kind === 'stop') signalAll('SIGCONT');
  }
  const untilMs = clockMs();
  // This loop goes on after the end of the storm, because the leaders that it notes excuse late events. It ends if the process
  // that runs the cluster is gone.
  await until(async () => {
    const nodes = readLive(folder).nodes;
    await watch.look(nodes);
    return !process.connected || (watch.isDone() && (await areWhole(nodes)));
  }, wholeLooks);
  return { target, kind, pid: first?.pid ?? 0, atMs, untilMs, wholeMs: clockMs() };
}

/** Waits until every stream has a leader, as it must before the next strike. */
async function findAllLeaders({ folder, signal }: StrikesOptions): Promise<Leaders> {
  let leaders: Leaders = new Map();
  const isLed = await until(
    async () => {
      ({ leaders } = await findLeaders(readLive(folder).nodes));
      return assets.every((asset) => leaders.has(asset));
    },
    { ...wholeLooks, signal },
  );
  if (isLed || signal.aborted) return leaders;
  throw new Error(`the cluster has leaders only for ${[...leaders.keys()].join(', ')}`);
}

const ledAssets: Partial<Record<ClusterTarget, Asset>> = {
  'events-leader': 'EVENTS',
  'deliver-leader': 'EVENT_BATCHES',
  'meta-leader': 'meta',
};

function chooseNodes(target: ClusterTarget, leaders: Leaders, nodes: readonly Node[]): string[] {
  const names = nodes.map(({ name }) => name);
  const led = leaders.get(ledAssets[target] ?? 'EVENTS') ?? names[0] ?? '';
  if (target === 'all-nodes') return names;
  // Two of three nodes: the leader of EVENTS, and another node.
  return target === 'two-nodes' ? [led, ...names.filter((name) => name !== led).slice(0, 1)] : [led];
}

/** Notes when a stream loses its leader, such as a struck node, and when the stream has a leader again. */
function openWatch(
  before: Leaders,
  struck: ReadonlySet<string>,
  { leaders, lostMs }: Pick<StrikesOptions, 'leaders'> & { lostMs: number },
) {
  const led = new Map(before);
  const lost = new Map<Asset, number>();
  for (const [asset, leader] of before) if (struck.has(leader)) lost.set(asset, lostMs);
  return {
    async look(nodes: readonly Node[]): Promise<void> {
      const nowMs = clockMs();
      const found = await findLeaders(nodes);
      for (const asset of assets) {
        const to = found.leaders.get(asset);
        const sinceMs = lost.get(asset);
        if (to === undefined) {
          if (sinceMs === undefined && found.isComplete) lost.set(asset, nowMs);
          continue;
        }
        if (sinceMs !== undefined) {
          leaders.write({ asset, from: led.get(asset) ?? '', to, lostMs: sinceMs, foundMs: clockMs() });
          lost.delete(asset);
        }
        led.set(asset, to);
      }
    },
    isDone: (): boolean => lost.size === 0,
  };
}
