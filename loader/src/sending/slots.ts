// The rows that are under way. Answers come in any order, and rows are let go in the order of the file: so a number says how
// far a load is, and rejects stand as their rows stood.
import type { PushOutcome } from '@integration-sync/client';
import { Wrong } from '../mapping/convert.ts';
import type { Item } from '../mapping/items.ts';
import type { Row } from '../reading/source.ts';

export type Status = 'created' | 'updated' | 'unchanged' | 'rejected' | 'deferred';

export interface Slot {
  row: number;
  id: string;
  raw: unknown;
  /** Undefined of a row that is wrong before it is sent, and once it is sent. */
  item: Item | undefined;
  status: Status | undefined;
  internalId: string;
  reason: string;
  /** While it waits or is in flight. */
  push?: Push | undefined;
  /** One more row of the queue. */
  next?: Slot | undefined;
  /** Of its id, in the queue. */
  place?: number | undefined;
}

export interface Push {
  slots: Slot[];
  /** Later rows of its ids. */
  held: Slot[];
}

/** A push takes so many. */
export const itemsMax = 500;

export const itemsOf = (slots: readonly Slot[]): Item[] => slots.map(({ item = {} }) => item);

const underWayMax = 8_000;
/** Of their texts. */
const charactersMax = 16 * 1024 * 1024;

export class Slots {
  /** Empty before `#head`. */
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

  /** Lets go of the oldest rows, as far as all of them have a status. */
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
  const id = isWrong ? made.id : made['externalId'];
  return {
    row: number,
    id: typeof id === 'string' ? id : '',
    raw,
    item: isWrong ? undefined : made,
    status: isWrong ? 'rejected' : undefined,
    internalId: '',
    reason: isWrong ? made.reason : '',
    push: undefined,
    next: undefined,
    place: undefined,
  };
}

/** What the answer says of the item that stood at this place. */
export function settle(slot: Slot, { details, records }: PushOutcome, at: number): void {
  const detail = details[at];
  slot.internalId = records[at]?.internalId ?? '';
  if (detail === undefined) {
    slot.status = 'rejected';
    slot.reason = 'the service did not say what became of it';
  } else if (detail.action === 'failed') {
    slot.status = detail.problems.every(({ code }) => code === 'reference_not_found')
      ? 'deferred'
      : 'rejected';
    slot.reason = detail.problems.map((problem) => problem.detail).join('; ');
  } else slot.status = detail.action;
}
