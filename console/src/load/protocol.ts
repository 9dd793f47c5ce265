// What the page and its worker say to each other: commands one way, and the other way each part of what the page shows.
import type { Kind } from '@integration-sync/client';
import type { Counts, Rules } from 'integration-sync/core';

export type { Counts, Kind, Rules };

export interface Column {
  name: string;
  /** Undefined where the column is not used. */
  field: string | undefined;
  /** Whether its header has suggested the field, and nothing else has. */
  isSuggested: boolean;
  /** The first five that are not empty. */
  values: readonly string[];
  /** The part of the first rows in which it is not empty, from 0 to 1. */
  filled: number;
}

/** A file, or a sheet of one, and what was understood of it. */
export interface Entry {
  id: string;
  file: string;
  sheet: string | undefined;
  /** An entry without a kind is not loaded. */
  kind: Kind | undefined;
  rules: Rules;
  encoding: string | undefined;
  delimiter: string | undefined;
  /** 0 if there is none. */
  headerRow: number;
  rows: number | undefined;
  columns: readonly Column[];
  /** The columns that a load leaves out. */
  unused: readonly string[];
  notes: readonly string[];
  isRejects: boolean;
  /** Why it cannot be loaded as it is, in the words of the loader. */
  problem: string | undefined;
}

export interface Reasons {
  place: string;
  reason: string;
  count: number;
  /** The first ones: the number of each, and what it has instead of what was expected. */
  rows: readonly string[];
}

export interface FileOutcome {
  file: string;
  place: string;
  kind: Kind;
  counts: Counts;
  /** The name of the file of its rejected rows. */
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
  /** The most frequent ones first. */
  reasons: readonly Reasons[];
  /** Why it has stopped. */
  problem: string | undefined;
  /** What it waits for: the service, or another token. */
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
  /** Why they are not archived. */
  problem: string | undefined;
  isArchived: boolean;
}

/** What the page shows. */
export interface Shown {
  /** What the worker does now, beside a run. */
  busy: string | undefined;
  entries: readonly Entry[];
  /** How many corrections `entries` have. */
  corrections: number;
  /** Files that are not taken, in words. */
  refused: readonly string[];
  run: Run | undefined;
  kept: Kept | undefined;
  /** Another tab loads files of this integration. */
  isElsewhere: boolean;
  /** By kind, the last load that has finished. */
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
  /** How many corrections came before it, and this one. */
  corrections: number;
}

export type Command =
  | { do: 'begin'; url: string; access: Access }
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
