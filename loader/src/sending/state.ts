// The progress of a load, on disk. It is replaced as a whole, so a killed process leaves the old or the new state.
import { mkdir, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import type { Kind } from '@integration-sync/client';
import type { Rules } from '../mapping/map.ts';
import type { Format } from '../reading/source.ts';
import { systemCodeOf } from '../exit.ts';
import { openOwn } from './own-files.ts';

export interface Counts {
  created: number;
  updated: number;
  unchanged: number;
  rejected: number;
  /** Unchanged rows of a resumed load that it may have sent already before the interruption. */
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
  /** Whether its rows are rejected ones of an earlier load. */
  isRejects?: boolean;
}

/** A file that the load writes, and its length. */
export interface Grown {
  path: string;
  bytes: number;
}

export interface LoadState {
  version: 1;
  url: string;
  /** Undefined if the service does not say it, as behind a proxy that passes only the interface on. */
  integration?: string | undefined;
  phase: 'loading' | 'retrying' | 'finished';
  startedAt: string;
  autoCreateDDS: boolean;
  /** Undefined if rejected rows are not written. */
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
/** The ids of rejected rows, which prune does not archive. */
export const rejectedIdsFile = 'rejected-ids.ndjson';

export async function writeJson(folder: string, name: string, value: unknown): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const temporary = join(folder, `${name}.new`);
  const file = await openOwn(temporary, 'empty');
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
