// A rolling restart by an operator: ends each node, or each replica of each service, in good order and has it
// started again, one after the other.
import type { Bus } from '@integration-sync/runtime/bus';
import { expectedStreams } from '@integration-sync/webhooks/operating';
import { sendSignal } from '../../process/identity.ts';
import { readFacts } from '../../stack/facts.ts';
import { askReadiness } from '../../stack/readiness.ts';
import { serviceNames, type Service } from '../../stack/services.ts';
import { readLive, stackFolderOf } from '../plan.ts';
import { pause } from '../role.ts';
import { pidsOf } from '../strike.ts';
import { until } from '../until.ts';
import { areWhole } from './nodes.ts';

/** A restart takes long: a node waits until its clients have left, webhooks until a slow receiver has answered. */
const backLooks = { looksMax: 900, everyMs: 100 };
const replicasOfEach = 2;
const pingMs = 300;

export interface RollOptions {
  folder: string;
  bus: Pick<Bus, 'askAll' | 'ensureStream'>;
  signal: AbortSignal;
}

/** A process is back once as many processes run and serve as before. Returns early if the storm ends. */
export async function roll(target: 'nodes' | 'services', options: RollOptions): Promise<void> {
  const { folder, signal } = options;
  // The gateways restart last, so that no route leads to a service that does not know it.
  const services = serviceNames.toReversed().map((service) => ofService(service, options));
  for (const { what, by, pids, isServing } of target === 'nodes' ? [ofNodes(folder)] : services) {
    const before = pids();
    for (const pid of before) {
      if (signal.aborted) return;
      sendSignal(pid, by);
      const isBack = async (): Promise<boolean> =>
        pids().length >= before.length && !pids().includes(pid) && (await isServing());
      if (!(await until(isBack, { ...backLooks, signal })) && !signal.aborted)
        throw new Error(`${what} does not serve again after ${backLooks.looksMax} checks`);
    }
  }
}

/** Has each stream lose two of its three copies, and some time later get them again. */
export async function changeCopies(forMs: number, { folder, bus }: RollOptions): Promise<void> {
  for (const STREAM_REPLICAS of [1, 3]) {
    for (const spec of expectedStreams({ STREAM_REPLICAS, STREAMS_MAY_SHRINK: true }))
      await bus.ensureStream(spec);
    await pause(forMs);
    // Waits also after the end of the storm, so that streams have their copies again, unless the cluster is gone.
    const isWhole = async (): Promise<boolean> => !process.connected || areWhole(readLive(folder).nodes);
    if (!(await until(isWhole, backLooks)))
      throw new Error(`a node is unhealthy, with ${STREAM_REPLICAS} copies of each stream`);
  }
}

const ofNodes = (folder: string) => ({
  what: 'a node',
  // Lame duck mode: the node's leaders and clients move to other nodes before the node ends.
  by: 'SIGUSR2' as const,
  pids: () => readLive(folder).nodes.flatMap(({ pid }) => pid ?? []),
  isServing: () => areWhole(readLive(folder).nodes),
});

const ofService = (service: Service, { folder, bus }: RollOptions) => ({
  what: `a replica of ${service}`,
  by: 'SIGTERM' as const,
  pids: () => [...pidsOf(folder, service), ...(service === 'gateway' ? pidsOf(folder, 'gateway-2') : [])],
  /** Whether both replicas answer, and both gateways are ready. */
  isServing: async (): Promise<boolean> => {
    if ((await bus.askAll(`$SRV.PING.${service}`, pingMs)).length < replicasOfEach) return false;
    const gateways = [readFacts(stackFolderOf(folder))?.gateway ?? '', readLive(folder).url];
    return (await Promise.all(gateways.map((url) => askReadiness(url)))).every(({ ready }) => ready);
  },
});
