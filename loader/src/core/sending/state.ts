// How far a load is: what a load that was interrupted goes on from.
import type { Kind } from '@integration-sync/client';
import type { Rules } from '../mapping/map.ts';
import type { Format, Input } from '../reading/source.ts';

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

/** As it is when a load begins. */
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
