// Rewrites stack.json whenever a process of the stack starts or ends.
import type { Engines } from '../engines/index.ts';
import { changeFacts, mergePids, removeFacts, type Pids, type StackFacts } from './facts.ts';
import type { Fleet } from './fleet.ts';
import { serviceNames } from './services.ts';

export type FixedFacts = Omit<StackFacts, 'pids' | 'metrics'>;

export interface FactsFile extends AsyncDisposable {
  /** Notes a change. Changes that come during a write share the next write. */
  changed(): void;
  written(): Promise<void>;
}

export function openFactsFile(folder: string, fixed: FixedFacts, fleet: Fleet, engines: Engines): FactsFile {
  const everOurs = new Set<number>();
  let closed = false;
  let waiting = false;
  let writing = Promise.resolve();
  const write = async (): Promise<void> => {
    waiting = false;
    if (closed) return;
    await changeFacts(folder, (before) => {
      const ours = pidsOf(fleet, engines);
      for (const pid of Object.values(ours).flat()) everOurs.add(pid);
      const pids: Pids = {};
      for (const [name, now] of Object.entries(ours))
        pids[name] = mergePids(before?.pids[name] ?? [], everOurs, now);
      return { ...fixed, pids, metrics: metricsOf(fleet) };
    });
  };
  return {
    changed() {
      if (waiting) return;
      waiting = true;
      // A write that fails, as on a full disk, is tried again at the next change.
      writing = writing.then(write).catch(() => undefined);
    },
    written: () => writing,
    async [Symbol.asyncDispose]() {
      closed = true;
      await writing;
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
