// How far a load is, on disk: written whole, so that a process that is killed leaves the one before or the one after.
import { mkdir, open, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import type { Kind } from '@integration-sync/client';
import type { Rules } from '../mapping/map.ts';
import type { Format } from '../reading/source.ts';
import { systemCodeOf } from '../exit.ts';

export interface Counts {
  created: number;
  updated: number;
  unchanged: number;
  rejected: number;
  /** Rows that an interrupted load may have sent as well, and that were found as they should be. */
  sentAgain: number;
}

export const noCounts = (): Counts => ({ created: 0, updated: 0, unchanged: 0, rejected: 0, sentAgain: 0 });

export interface FileState {
  path: string;
  kind: Kind;
  format: Format;
  sheet: string | undefined;
  rules: Rules;
  hash: string;
  /** All rows up to this one are acknowledged. */
  row: number;
  /** Rows up to this one may have been sent. */
  reach: number;
  counts: Counts;
  rejects: Grown | undefined;
}

/** A file and how long it is. */
export interface Grown {
  path: string;
  bytes: number;
}

export interface LoadState {
  version: 1;
  url: string;
  phase: 'loading' | 'retrying' | 'finished';
  startedAt: string;
  autoCreateDDS: boolean;
  /** Undefined where rejects are not written. */
  rejectsFolder: string | undefined;
  files: FileState[];
  results: Grown | undefined;
  deferredBytes: number;
  rejectedIdsBytes: number;
  /** What `X-Next-Since` said before the load, by kind; prune needs it. */
  marks: Partial<Record<Kind, string>>;
}

export const stateFile = 'load.json';
export const deferredFile = 'deferred.ndjson';
/** Prune takes these as loaded. */
export const rejectedIdsFile = 'rejected-ids.ndjson';

export async function writeJson(folder: string, name: string, value: unknown): Promise<void> {
  await mkdir(folder, { recursive: true });
  const temporary = join(folder, `${name}.new`);
  const file = await open(temporary, 'w');
  try {
    await file.writeFile(JSON.stringify(value, undefined, 2));
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(temporary, join(folder, name));
}

export async function readJson<Value>(folder: string, name: string): Promise<Value | undefined> {
  try {
    return JSON.parse(await readFile(join(folder, name), 'utf8'));
  } catch (error) {
    if (systemCodeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}
