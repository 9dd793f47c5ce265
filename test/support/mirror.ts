// A reader that keeps a mirror of the suppliers of one integration by `changedSince`, and may stop at any page.
import type { ListingEntity, RecordDetails } from '@integration-sync/contracts';
import type { Caller } from './sync.ts';

type Whole = ListingEntity & { details: RecordDetails };

export interface Mirrored {
  externalId: string;
  syncStatus: string;
  fields: RecordDetails['fields'];
}

export class Mirror {
  /** The mirrored records by internal id, which is all that is left of an erased record. */
  readonly records = new Map<string, Mirrored>();
  /** How many records the pages have shown, repetitions included. */
  read = 0;
  readonly #caller: Caller;
  /** The next `changedSince`; replaced only once a walk has read its last page. */
  #changedSince: string | undefined;
  #walk: { next: string; nextSince: string | undefined } | undefined;

  constructor(caller: Caller, changedSince?: string) {
    this.#caller = caller;
    this.#changedSince = changedSince;
  }

  /** Reads `pagesMax` pages at most; returns whether it has read the last page of its walk. */
  async readPages(limit: number, pagesMax: number): Promise<boolean> {
    for (let page = 0; page < pagesMax; page += 1) {
      const listed = await this.#caller.list('suppliers', this.#walk?.next ?? this.#firstPage(limit));
      for (const entity of listed.entities) this.#keep(entity as Whole);
      const nextSince = this.#walk === undefined ? listed.nextSince : this.#walk.nextSince;
      if (listed.next === undefined) {
        this.#walk = undefined;
        this.#changedSince = nextSince;
        return true;
      }
      this.#walk = { next: listed.next, nextSince };
    }
    return false;
  }

  /** Abandons its walk, as a restarted reader does, which has only its records and `changedSince`. */
  stop(): void {
    this.#walk = undefined;
  }

  /** Abandons its walk, and reads another one to its last page. */
  async catchUp(limit = 100): Promise<void> {
    this.stop();
    while (!(await this.readPages(limit, 100)));
  }

  #firstPage(limit: number): string {
    const since = this.#changedSince === undefined ? {} : { changedSince: this.#changedSince };
    return new URLSearchParams({ details: 'true', limit: String(limit), ...since }).toString();
  }

  #keep({ internalId, externalId, syncStatus, details }: Whole): void {
    this.read += 1;
    this.records.set(internalId, { externalId, syncStatus, fields: details.fields });
  }
}

/** The records that a mirror without gaps has. */
export async function listedNow(caller: Caller): Promise<Map<string, Mirrored>> {
  const all = (await caller.listAll('suppliers', 'details=true&limit=100')) as Whole[];
  return new Map(
    all.map(({ internalId, externalId, syncStatus, details }) => [
      internalId,
      { externalId, syncStatus, fields: details.fields },
    ]),
  );
}
