// Keeps the rows that wait for their outcome. Answers come in any order, but outcomes are passed on in the order of the file. So
// one row number says how far a load is, and rejected rows keep their order.
import type { PushOutcome } from '@integration-sync/client';
import { Wrong } from '../mapping/convert.ts';
import { idIn, type Item } from '../mapping/items.ts';
import type { Row } from '../reading/source.ts';
import { reasonOf } from './reasons.ts';

export type Status = 'created' | 'updated' | 'unchanged' | 'rejected' | 'deferred';

export interface Slot {
  row: number;
  id: string;
  raw: unknown;
  /** The item of the row; undefined if the row cannot be converted, and after the row was sent. */
  item: Item | undefined;
  status: Status | undefined;
  internalId: string;
  reason: string;
  /** The fields of the record that an accepted row changed, by the answer. */
  changedFields?: readonly string[] | undefined;
  /** The push of the row, while the push waits or is in flight. */
  push?: Push | undefined;
  /** The next row in the same bucket of `RowsById` (push-queue.ts). */
  next?: Slot | undefined;
  /** The bucket of the row's id in `RowsById` (push-queue.ts). */
  place?: number | undefined;
}

export interface Push {
  slots: Slot[];
  /** Later rows with an id that this push has. They are added to another push once this push is answered. */
  held: Slot[];
}

/** The most items that the service takes in one push. */
export const itemsMax = 500;

export const itemsOf = (slots: readonly Slot[]): Item[] => slots.map(({ item = {} }) => item);

/** How many rows may be kept: those of 64 pushes in flight, and answered rows after a push that is not answered yet. */
const underWayMax = 40_000;
/** The most characters of raw text that all slots may have. */
const charactersMax = 16 * 1024 * 1024;

export class Slots {
  /** The entries before `#head` are undefined: the outcomes of their rows are passed on. */
  #slots: (Slot | undefined)[] = [];
  #head = 0;
  #characters = 0;

  get size(): number {
    return this.#slots.length - this.#head;
  }

  get isFull(): boolean {
    return this.size > underWayMax || this.#characters > charactersMax;
  }

  add(slot: Slot): void {
    this.#slots.push(slot);
    this.#characters += lengthOf(slot);
  }

  /** Removes the oldest rows, up to the first row without a status, and passes each to `letGo`. */
  release(letGo: (slot: Slot) => void): void {
    for (let slot = this.#slots[this.#head]; slot?.status !== undefined; slot = this.#slots[this.#head]) {
      this.#slots[this.#head] = undefined;
      this.#head += 1;
      this.#characters -= lengthOf(slot);
      if (this.#head > 10_000) {
        this.#slots = this.#slots.slice(this.#head);
        this.#head = 0;
      }
      letGo(slot);
    }
  }
}

const lengthOf = ({ raw }: Slot): number => (typeof raw === 'string' ? raw.length : 0);

export function slotOf({ number, made, raw }: Row): Slot {
  const isWrong = made instanceof Wrong;
  const id = idIn(made);
  return {
    row: number,
    id: typeof id === 'string' ? id : '',
    raw,
    item: isWrong ? undefined : made,
    status: isWrong ? 'rejected' : undefined,
    internalId: '',
    reason: isWrong ? made.reason : '',
    changedFields: undefined,
    push: undefined,
    next: undefined,
    place: undefined,
  };
}

const noColumns: ReadonlyMap<string, string> = new Map();

/** Sets the outcome of a row, from the answer for the item at index `at` of the push. `columns` has the column of each field. */
export function settle(
  slot: Slot,
  { details, records }: PushOutcome,
  at: number,
  columns: ReadonlyMap<string, string> = noColumns,
): void {
  const detail = details[at];
  slot.internalId = records[at]?.internalId ?? '';
  if (detail === undefined) {
    slot.status = 'rejected';
    slot.reason = 'the service did not say what became of the row';
  } else if (detail.action === 'failed') {
    slot.status = detail.problems.every(({ code }) => code === 'reference_not_found')
      ? 'deferred'
      : 'rejected';
    slot.reason = detail.problems.map((problem) => reasonOf(problem, columns)).join('; ');
  } else {
    slot.status = detail.action;
    slot.changedFields = detail.changedFields;
  }
}
