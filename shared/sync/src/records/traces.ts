// What the documents say of a push that could not say it itself. Pure.
import { isCreatedBy } from '../ids.ts';
import type { Outcome } from './outcome.ts';

/** The part of a document that tells whose work it is. */
export interface Trace {
  externalId: string;
  /** Names the push that created it, for ever. */
  order: string;
  /** Names the push that last changed it. */
  push: string;
  changed?: readonly string[];
}

interface Traces {
  documents: ReadonlyMap<string, Trace>;
  /** What the push changed in documents that another one has changed again since. */
  evidence: Readonly<Record<string, readonly string[]>>;
  /** By internal id, the drafts that the push made. */
  drafts: Pick<ReadonlySet<string>, 'has'>;
}

/** In the order of `ids`, which is that of places. */
export function examine(
  syncId: string,
  ids: readonly string[],
  { documents, evidence, drafts }: Traces,
): Outcome[] {
  return ids.map((id) => {
    const trace = documents.get(id);
    const created = trace !== undefined && isCreatedBy(trace.order, syncId);
    // One push changes a document at most once, so both ways of knowing never speak at the same time.
    const changed = trace?.push === syncId ? trace.changed : evidence[id];
    return { created, changed: created ? [] : (changed ?? []), drafted: drafts.has(id) };
  });
}
