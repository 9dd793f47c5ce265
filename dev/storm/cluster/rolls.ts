// What an operator does to a system that runs: ends each node, or each replica of each service, in good order and has it
// started again, one after the other.
import type { Bus } from '@integration-sync/runtime/bus';
import { sendSignal } from '../../process/identity.ts';
import { readFacts } from '../../stack/facts.ts';
import { askReadiness } from '../../stack/readiness.ts';
import { serviceNames, type Service } from '../../stack/services.ts';
import { readLive, stackFolderOf } from '../plan.ts';
import { pidsOf } from '../strike.ts';
import { until } from '../until.ts';
import { isWhole } from './nodes.ts';

/** A node waits for its clients to leave, webhooks for a receiver that answers late. */
const backLooks = { looksMax: 900, everyMs: 100 };
const replicasOfEach = 2;

export interface RollOptions {
  folder: string;
  bus: Pick<Bus, 'askAll'>;
  signal: AbortSignal;
}

export async function rollNodes({ folder, signal }: RollOptions): Promise<void> {
  for (const { name, pid } of readLive(folder).nodes) {
    if (pid === undefined || signal.aborted) continue;
    // Lame duck mode: its leaders and its clients go to other nodes before it ends.
    sendSignal(pid, 'SIGUSR2');
    await untilBack(signal, `node ${name}`, async () => {
      const nodes = readLive(folder).nodes;
      const isBack = nodes.some((node) => node.name === name && (node.pid ?? pid) !== pid);
      return isBack && (await Promise.all(nodes.map(isWhole))).every(Boolean);
    });
  }
}

export async function rollServices(options: RollOptions): Promise<void> {
  const { folder, signal } = options;
  // The gateways last: no route leads to a service that does not know it.
  for (const service of serviceNames.toReversed()) {
    for (const pid of replicasOf(folder, service)) {
      if (signal.aborted) return;
      sendSignal(pid, 'SIGTERM');
      await untilBack(signal, `a replica of ${service}`, async () => {
        const pids = replicasOf(folder, service);
        return pids.length === replicasOfEach && !pids.includes(pid) && (await isServing(service, options));
      });
    }
  }
}

const replicasOf = (folder: string, service: Service): number[] => [
  ...pidsOf(folder, service),
  ...(service === 'gateway' ? pidsOf(folder, 'gateway-2') : []),
];

const pingMs = 300;

/** Whether both replicas answer, and both gateways are ready. */
async function isServing(service: Service, { bus, folder }: RollOptions): Promise<boolean> {
  if ((await bus.askAll(`$SRV.PING.${service}`, pingMs)).length < replicasOfEach) return false;
  const gateways = [readFacts(stackFolderOf(folder))?.gateway, readLive(folder).second?.url];
  const states = await Promise.all(gateways.map((url) => askReadiness(url ?? '')));
  return states.every(({ ready }) => ready);
}

/** Returns early where the storm is to end. */
async function untilBack(signal: AbortSignal, what: string, isBack: () => Promise<boolean>): Promise<void> {
  if (!(await until(isBack, { ...backLooks, signal })) && !signal.aborted)
    throw new Error(`${what} is not back after ${backLooks.looksMax} looks`);
}
