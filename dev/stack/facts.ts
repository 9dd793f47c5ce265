// `.local/stack.json`: addresses, pids and settings of the running stack, for scripts and for other terminals. The file exists
// while the stack runs, is replaced as a whole, and names the stack's processes that run now.
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { readJson, writeJson } from '../process/files.ts';
import { repositoryFolder, type Service, type Settings } from './services.ts';

export type Pids = Record<string, number[]>;

export interface StackFacts {
  gateway: string;
  nats: string;
  natsMonitor?: string | undefined;
  mongodb: string;
  database: string;
  authSecret?: string | undefined;
  authIssuer?: string | undefined;
  authAudience?: string | undefined;
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

/** The facts of the stack of `npm start` in this folder. */
export const readLocalFacts = (): StackFacts | undefined => readFacts(join(repositoryFolder, '.local'));

export function removeFacts(folder: string): void {
  rmSync(pathOf(folder), { force: true });
}

/** The file holds secrets, so only this user may read it. */
export function writeFacts(folder: string, facts: StackFacts): void {
  writeJson(pathOf(folder), facts, 0o600);
}

function isFacts(value: unknown): value is StackFacts {
  if (typeof value !== 'object' || value === null) return false;
  return (
    'gateway' in value && 'nats' in value && 'mongodb' in value && 'pids' in value && 'settings' in value
  );
}
