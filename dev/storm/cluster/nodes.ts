// `nats-nodes.json`: the nodes of a storm's cluster and their processes, as these are now.
import { join } from 'node:path';
import type { NatsCluster } from '../../engines/nats-cluster.ts';
import { readJson, writeJson } from '../../process/files.ts';

export interface Node {
  name: string;
  monitorUrl: string;
  /** Absent while the node is dead. */
  pid?: number;
}

const pathOf = (folder: string): string => join(folder, 'nats-nodes.json');

export function writeNodes(folder: string, { nodes }: Pick<NatsCluster, 'nodes'>): void {
  const lines = nodes.map(({ name, engine }): Node => {
    const [pid] = engine.pids();
    return { name, monitorUrl: engine.monitorUrl ?? '', ...(pid === undefined ? {} : { pid }) };
  });
  writeJson(pathOf(folder), lines);
}

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && 'name' in value && 'monitorUrl' in value;

export function readNodes(folder: string): Node[] {
  const value = readJson(pathOf(folder));
  return Array.isArray(value) ? value.filter(isNode) : [];
}

/** Whether the node runs and has caught up with the others, by its /healthz. */
export async function isWhole({ monitorUrl }: Node): Promise<boolean> {
  try {
    const { status } = await fetch(new URL('/healthz', monitorUrl), { signal: AbortSignal.timeout(1_000) });
    return status === 200;
  } catch {
    return false;
  }
}
