// `.local/stack.json`: addresses, pids and settings of the running stack, for scripts and for other terminals. The file exists
// while the stack runs, is replaced as a whole, and names the processes that run now.
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { readJson, writeJson } from '../process/files.ts';
import { identify } from '../process/identity.ts';
import { waitForLock } from '../process/lock.ts';
import type { Service, Settings } from './services.ts';

export type Pids = Record<string, number[]>;

export interface StackFacts {
  gateway: string;
  nats: string;
  natsMonitor?: string;
  mongodb: string;
  database: string;
  authSecret?: string;
  authIssuer?: string;
  authAudience?: string;
  pids: Pids;
  /** Where each replica's Prometheus metrics are. */
  metrics: Record<string, string[]>;
  /** The settings of each service, for one more replica. */
  settings: Partial<Record<Service, Settings>>;
}

const pathOf = (folder: string): string => join(folder, 'stack.json');

export function readFacts(folder: string): StackFacts | undefined {
  const value = readJson(pathOf(folder));
  return isFacts(value) ? value : undefined;
}

export function removeFacts(folder: string): void {
  rmSync(pathOf(folder), { force: true });
}

/** The file is replaced under a lock: a replica from another terminal writes here too. */
export async function changeFacts(
  folder: string,
  change: (facts: StackFacts | undefined) => StackFacts | undefined,
): Promise<void> {
  using _lock = await waitForLock(`${pathOf(folder)}.lock`);
  const facts = change(readFacts(folder));
  // The file holds secrets, so only this user may read it.
  if (facts !== undefined) writeJson(pathOf(folder), facts, 0o600);
}

/**
 * The pids of this stack as they are now, then live pids of `before` that other terminals added (`npm run service`).
 */
export function mergePids(
  before: readonly number[],
  everOurs: ReadonlySet<number>,
  ours: readonly number[],
): number[] {
  return [...ours, ...before.filter((pid) => !everOurs.has(pid) && identify(pid) !== undefined)];
}

function isFacts(value: unknown): value is StackFacts {
  if (typeof value !== 'object' || value === null) return false;
  return (
    'gateway' in value && 'nats' in value && 'mongodb' in value && 'pids' in value && 'settings' in value
  );
}
