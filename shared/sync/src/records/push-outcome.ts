// The outcome of a push for each of its records, packed for the journal entry: two bytes a record, in their order.
//
//   bit 15       the push created the record
//   bit 14       the push made a draft for it
//   bits 0–13    which fields it changed, in the order of the entry's list of field names
//
// Created, updated or unchanged: sort-records.ts. What an action makes of a record, also of an archived one:
// items/archive-erase.ts.
import { isCreatedBy } from '../ids.ts';
import type { RecordDocument } from './record-document.ts';

export interface Outcome {
  created: boolean;
  drafted: boolean;
  changed: readonly string[];
}

export const untouched: Outcome = { created: false, drafted: false, changed: [] };

/** Whether `later` shows a creation, a draft or a change that `earlier` does not. A push changes a record at most once. */
export const isMore = (later: Outcome, earlier: Outcome): boolean =>
  (later.created && !earlier.created) ||
  (later.drafted && !earlier.drafted) ||
  (later.changed.length > 0 && earlier.changed.length === 0);

const createdBit = 1 << 15;
const draftedBit = 1 << 14;
const fieldsMax = 14;
const bytesEach = 2;

export function packOutcomes(outcomes: readonly Outcome[], fields: readonly string[]): Uint8Array {
  if (fields.length > fieldsMax)
    throw new Error(`${fields.length} fields of a kind do not fit into ${fieldsMax} bits of an outcome`);
  const packed = Buffer.alloc(outcomes.length * bytesEach);
  for (const [index, { created, drafted, changed }] of outcomes.entries()) {
    let bits = (created ? createdBit : 0) | (drafted ? draftedBit : 0);
    for (const name of changed) bits |= 1 << fields.indexOf(name);
    packed.writeUInt16BE(bits, index * bytesEach);
  }
  return packed;
}

export function unpackOutcomes(packed: Uint8Array, fields: readonly string[]): Outcome[] {
  const view = Buffer.from(packed.buffer, packed.byteOffset, packed.byteLength);
  return Array.from({ length: packed.byteLength / bytesEach }, (_, nth) => {
    const bits = view.readUInt16BE(nth * bytesEach);
    return {
      created: (bits & createdBit) !== 0,
      drafted: (bits & draftedBit) !== 0,
      changed: fields.filter((_name, index) => (bits & (1 << index)) !== 0),
    };
  });
}

// Recovery finds the outcomes of a dead process's push from the stored records.

/** The fields of a record that tell which pushes created and changed it. */
export type Trace = Pick<RecordDocument, 'externalId' | 'order' | 'push' | 'changed'>;

interface Traces {
  documents: ReadonlyMap<string, Trace>;
  /** The fields that the push changed in records that another push has overwritten since. */
  evidence: Readonly<Record<string, readonly string[]>>;
  /** By internal id, the drafts that the push made. */
  drafts: Pick<ReadonlySet<string>, 'has'>;
}

/** The outcome for each id, in the order of `ids`. */
export function examine(
  syncId: string,
  ids: readonly string[],
  { documents, evidence, drafts }: Traces,
): Outcome[] {
  return ids.map((id) => {
    const trace = documents.get(id);
    const created = trace !== undefined && isCreatedBy(trace.order, syncId);
    // The record names the fields that its last push changed; once another push has overwritten it, `evidence` names them.
    const changed = trace?.push === syncId ? trace.changed : evidence[id];
    return { created, changed: created ? [] : (changed ?? []), drafted: drafts.has(id) };
  });
}
