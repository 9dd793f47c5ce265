// The user's cache folder for downloaded and built programs. It is not in node_modules, which `npm ci` empties.
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Environment } from './environment.ts';
import type { Progress } from './progress.ts';

export interface Cache {
  folder: string;
  progress: Progress;
  /** Aborts a download, a build or a start. */
  signal: AbortSignal;
}

export function cacheFolder(environment: Environment): string {
  const base = environment['XDG_CACHE_HOME'] || join(homedir(), '.cache');
  return join(base, 'integration-sync-service');
}
