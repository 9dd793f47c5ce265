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
  /** By internal id: of an erased record nothing else stays. */
  readonly records = new Map<string, Mirrored>();
  /** How many records it was shown. */
  read = 0;
  readonly #caller: Caller;
  /** The next `changedSince`; kept only once a walk came to its end. */
  #changedSince: string | undefined;
  #walk: { next: string; nextSince: string | undefined } | undefined;

  constructor(caller: Caller, changedSince?: string) {
    this.#caller = caller;
    this.#changedSince = changedSince;
  }

  /** Reads so many pages at most, and says whether its walk came to an end. */
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

  /** Stops amid its walk, and forgets all but what it keeps. */
  stop(): void {
    this.#walk = undefined;
  }

  /** Whatever walk it was on: up to the end of one that begins now. */
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

/** What a mirror that misses nothing holds. */
export async function listedNow(caller: Caller): Promise<Map<string, Mirrored>> {
  const all = (await caller.listAll('suppliers', 'details=true&limit=100')) as Whole[];
  return new Map(
    all.map(({ internalId, externalId, syncStatus, details }) => [
      internalId,
      { externalId, syncStatus, fields: details.fields },
    ]),
  );
}
