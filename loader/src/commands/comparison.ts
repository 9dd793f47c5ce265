// The differences that verify finds: rows that a load would create, update or reject, and records that no row names. Each of
// several rows with the same id counts: files and service are equal only if each row equals its record.
import type { Client, Kind } from '@integration-sync/client';
import { count, counted } from '../core/count.ts';
import { placeOf } from '../core/reading/source.ts';
import type { Slot } from '../core/sending/slots.ts';
import type { FileState } from '../core/sending/state.ts';

const shownMax = 10;

export interface Findings {
  differences: number;
  /** The first ten differences, as text. */
  shown: string[];
}

/** The ids that rows of a kind name. */
interface Named {
  ids: Set<string>;
  /** How many of these ids the service already has, by the outcome of the first row with each id. */
  stored: number;
}

export class Comparison {
  readonly #shown: string[] = [];
  readonly #named = new Map<Kind, Named>();
  #differences = 0;

  /** `kinds` are the kinds of all files. If a kind has no rows, all its records are differences. */
  constructor(kinds: Iterable<Kind>) {
    for (const kind of kinds) this.#named.set(kind, noneNamed());
  }

  /** Compares a row. To be called for each row that has its outcome, in the order of the file. */
  judge(file: FileState, slot: Slot): void {
    const named = this.#named.get(file.kind) ?? noneNamed();
    // Only the first row of an id counts: a later row finds the record that the first row would create.
    if (isStored(slot) && !named.ids.has(slot.id)) named.stored += 1;
    // The id is copied: V8 may keep it as a slice of a large text, which then stays in memory.
    named.ids.add(Buffer.from(slot.id).toString());
    if (slot.status !== 'unchanged') this.#add(() => `${placeOf(file)}, row ${slot.row}: ${whatOf(slot)}`);
  }

  #add(text: () => string): void {
    this.#differences += 1;
    if (this.#shown.length < shownMax) this.#shown.push(text());
  }

  /** Lists the records of a kind only if the service has more of them than the rows name. */
  async end(client: Client, signal: AbortSignal): Promise<Findings> {
    for (const [kind, { ids, stored }] of this.#named) {
      for await (const { entities, total } of client.pages(kind, { signal })) {
        if (total === stored) break;
        for (const { externalId, syncStatus } of entities)
          if (syncStatus === 'SYNCED' && !ids.has(externalId))
            this.#add(() => `${kind}: ${externalId} is in no file`);
      }
    }
    return { differences: this.#differences, shown: this.#shown };
  }
}

const noneNamed = (): Named => ({ ids: new Set(), stored: 0 });

const isStored = ({ status }: Slot): boolean => status === 'unchanged' || status === 'updated';

function whatOf({ id, status, reason, changedFields = [] }: Slot): string {
  if (status === 'rejected') return reason;
  return status === 'created' ? `${id} is not there` : `${id} differs in ${changedFields.join(', ')}`;
}

export function findingsInWords({ differences, shown }: Findings): string {
  if (differences === 0) return 'Both sides are equal.\n';
  const more = differences > shown.length ? [`and ${count(differences - shown.length)} more`] : [];
  return `${[`${counted(differences, 'difference')}:`, ...[...shown, ...more].map((line) => `  ${line}`)].join('\n')}\n`;
}
