// The messages between the page and its worker: commands to the worker, and from it each part of what the page shows.
import type { Kind } from '@integration-sync/client';
import type { Counts, Rules } from 'integration-sync/core';

export type { Counts, Kind, Rules };

export interface Column {
  name: string;
  /** The field that the column holds; undefined where the column is not used. */
  field: string | undefined;
  /** Whether only the header of the column suggests the field. */
  isSuggested: boolean;
  /** The first five values that are not empty. */
  values: readonly string[];
  /** The fraction of the first rows, from 0 to 1, in which the column is not empty. */
  filled: number;
}

/** A file, or a sheet of a file, and what the loader understands of it. */
export interface Entry {
  id: string;
  file: string;
  sheet: string | undefined;
  /** The kind of the records; a file or sheet of unknown kind is not loaded. */
  kind: Kind | undefined;
  rules: Rules;
  /** The encoding and the delimiter of a CSV file; empty if the file cannot be read. */
  encoding: string | undefined;
  delimiter: string | undefined;
  /** The number of the header row; 0 without a header. */
  headerRow: number;
  rows: number | undefined;
  columns: readonly Column[];
  /** The columns that a load leaves out. */
  unused: readonly string[];
  notes: readonly string[];
  isRejects: boolean;
  /** Why the entry cannot be loaded as it is, in the words of the loader. */
  problem: string | undefined;
}

export interface Reasons {
  place: string;
  reason: string;
  count: number;
  /** The first rejected rows with this reason: row number and, if the reason says it, the wrong value. */
  rows: readonly string[];
}

export interface FileOutcome {
  file: string;
  place: string;
  kind: Kind;
  counts: Counts;
  /** The name of the file with the rejected rows of this file. */
  rejects: string | undefined;
}

/** A check or a load. */
export interface Run {
  isPlan: boolean;
  state: 'under way' | 'stopping' | 'finished' | 'stopped';
  rows: number;
  total: number | undefined;
  perSecond: number | undefined;
  seconds: number;
  files: readonly FileOutcome[];
  /** The most frequent reasons first. */
  reasons: readonly Reasons[];
  /** Why the run has stopped. */
  problem: string | undefined;
  /** What the run waits for, in words: an answer of the service, or another token. */
  waiting: string | undefined;
}

/** A load that did not come to its end, and goes on once the same files are chosen. */
export interface Kept {
  startedAt: string;
  files: readonly { place: string; row: number; isChosen: boolean }[];
}

export interface Loaded {
  kind: Kind;
  files: readonly string[];
}

export interface Gone {
  found: readonly { kind: Kind; count: number; total: number; ids: readonly string[] }[];
  /** Why the worker has refused to archive these records, in words. */
  problem: string | undefined;
  isArchived: boolean;
}

/** What the worker has the page show. */
export interface Shown {
  /** What the worker does now apart from a run, in words. */
  busy: string | undefined;
  entries: readonly Entry[];
  /** How many corrections of a person `entries` include. */
  corrections: number;
  /** The reason for each file that the page refuses. */
  refused: readonly string[];
  run: Run | undefined;
  kept: Kept | undefined;
  /** Whether another tab loads files of this integration. */
  isElsewhere: boolean;
  /** For each kind of records, the last load that has finished. */
  loaded: readonly Loaded[];
  gone: Gone | undefined;
}

export interface Access {
  token: string;
  integration: string;
}

export interface Correction {
  do: 'change';
  id: string;
  kind: Kind | undefined;
  rules: Rules;
  /** The number of corrections so far, this one included. */
  corrections: number;
}

export type Command =
  | { do: 'begin'; url: string; slot: string; access: Access }
  | { do: 'access'; access: Access }
  | { do: 'choose'; files: readonly File[] }
  | Correction
  | { do: 'remove'; id: string }
  | { do: 'map'; file: File }
  | { do: 'check' }
  | { do: 'load'; autoCreateDDS: boolean }
  | { do: 'go on' }
  | { do: 'stop' }
  | { do: 'forget' }
  | { do: 'save'; what: 'results' | 'rejects' | 'map'; file: string }
  | { do: 'look for gone' }
  | { do: 'archive'; most: number };

export type Answer =
  | { shown: Partial<Shown> }
  | { saved: Blob; name: string }
  | { ended: string /* the token that was refused */ };
