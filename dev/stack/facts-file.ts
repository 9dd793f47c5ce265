// Rewrites stack.json whenever a process of the stack starts or ends.
import type { Engines } from '../engines/index.ts';
import { removeFacts, writeFacts, type Pids, type StackFacts } from './facts.ts';
import type { Fleet } from './fleet.ts';
import { serviceNames } from './services.ts';

export type FixedFacts = Omit<StackFacts, 'pids' | 'metrics'>;

export interface FactsFile extends Disposable {
  /** Notes that a process has started or ended: the file is then written again. */
  changed(): void;
}

export function openFactsFile(folder: string, fixed: FixedFacts, fleet: Fleet, engines: Engines): FactsFile {
  const write = (): void =>
    writeFacts(folder, { ...fixed, pids: pidsOf(fleet, engines), metrics: metricsOf(fleet) });
  write();
  let waiting: NodeJS.Immediate | undefined;
  return {
    changed() {
      // Changes in one turn of the event loop share a write of the file.
      waiting ??= setImmediate(() => {
        waiting = undefined;
        try {
          write();
        } catch {
          // A write that fails, as on a full disk, is tried again at the next change.
        }
      });
    },
    [Symbol.dispose]() {
      clearImmediate(waiting);
      removeFacts(folder);
    },
  };
}

export function pidsOf(fleet: Fleet, engines: Engines): Pids {
  const pids: Pids = {};
  for (const service of serviceNames) {
    const replicas = fleet.replicas().filter((replica) => replica.service === service);
    pids[service] = replicas.map(({ child }) => child.pid()).filter((pid) => pid !== undefined);
  }
  return { ...pids, nats: engines.nats.pids(), mongodb: engines.mongodb.pids() };
}

export function metricsOf(fleet: Fleet): Record<string, string[]> {
  const metrics: Record<string, string[]> = {};
  for (const replica of fleet.replicas()) {
    const url = replica.metricsUrl();
    if (url !== undefined) (metrics[replica.service] ??= []).push(url);
  }
  return metrics;
}
