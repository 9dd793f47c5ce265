// The state of a load: from it an interrupted load is resumed.
import type { Kind } from '@integration-sync/client';
import type { Rules } from '../mapping/map.ts';
import type { Format, Input } from '../reading/source.ts';

export interface Counts {
  created: number;
  updated: number;
  unchanged: number;
  rejected: number;
  /** How many rows of a resumed load were unchanged, probably because the load had sent them before the interruption. */
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
  /** The number of the last row up to which all rows of the file are acknowledged. */
  row: number;
  /** The number of the last row of the file that may have been sent. */
  reach: number;
  counts: Counts;
  rejects: Grown | undefined;
  /** Whether the file has rejected rows of an earlier load. */
  isRejects?: boolean;
}

/** The state of a file when its load begins. */
export const newFile = (
  { path, kind, format, sheet, rules }: Input,
  hash: string,
  isRejects: boolean,
): FileState => ({
  path,
  kind,
  format,
  sheet,
  rules,
  hash,
  row: 0,
  reach: 0,
  counts: noCounts(),
  rejects: undefined,
  isRejects,
});

/** A file that the load writes, and its length. */
export interface Grown {
  path: string;
  bytes: number;
}

export interface LoadState {
  version: 1;
  url: string;
  /** The integration of the key; undefined if it is not known, for example behind a proxy that forwards only paths below /api. */
  integration?: string | undefined;
  phase: 'loading' | 'retrying' | 'finished';
  startedAt: string;
  autoCreateDDS: boolean;
  /** The folder for files of rejected rows; undefined if they are not written. */
  rejectsFolder: string | undefined;
  files: FileState[];
  results: Grown | undefined;
  deferredBytes: number;
  rejectedIdsBytes: number;
  /** The values of `X-Next-Since` before the load, by kind, for prune. */
  marks: Partial<Record<Kind, string>>;
}
