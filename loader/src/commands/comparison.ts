// What verify finds: rows that a load would create, update or reject, and records that no row names. Of several rows of one id
// each counts, so that both sides are equal only where each row says what the service has.
import type { Client, Kind } from '@integration-sync/client';
import { count, counted } from '../core/count.ts';
import { placeOf } from '../core/reading/source.ts';
import type { Slot } from '../core/sending/slots.ts';
import type { FileState } from '../core/sending/state.ts';

const shownMax = 10;

export interface Findings {
  differences: number;
  /** The first ten, as text. */
  shown: string[];
}

export class Comparison implements Disposable {
  readonly #shown: string[] = [];
  readonly #named = new Map<Kind, Set<string>>();
  readonly #stored: Promise<Map<Kind, string[]>>;
  readonly #ended = new AbortController();
  #differences = 0;

  /** Lists the records while the rows are planned. */
  constructor(client: Client, kinds: Iterable<Kind>, signal: AbortSignal) {
    this.#stored = storedIds(client, kinds, AbortSignal.any([signal, this.#ended.signal]));
    // `end` throws its error, unless the plan has failed before.
    this.#stored.catch(() => undefined);
  }

  /** To be called for each row with its outcome, in the order of the file. */
  judge(file: FileState, slot: Slot): void {
    const named = this.#named.get(file.kind) ?? new Set();
    // A copy: V8 may keep an id as a slice of a large text, which then stays in memory.
    this.#named.set(file.kind, named.add(Buffer.from(slot.id).toString()));
    if (slot.status !== 'unchanged') this.#add(() => `${placeOf(file)}, row ${slot.row}: ${whatOf(slot)}`);
  }

  #add(text: () => string): void {
    this.#differences += 1;
    if (this.#shown.length < shownMax) this.#shown.push(text());
  }

  /** Ends the listing, where the plan has failed. */
  [Symbol.dispose](): void {
    this.#ended.abort(new Error('the plan has ended'));
  }

  async end(): Promise<Findings> {
    for (const [kind, ids] of await this.#stored) {
      const named = this.#named.get(kind);
      for (const id of ids) if (named?.has(id) !== true) this.#add(() => `${kind}: ${id} is in no file`);
    }
    return { differences: this.#differences, shown: this.#shown };
  }
}

async function storedIds(
  client: Client,
  kinds: Iterable<Kind>,
  signal: AbortSignal,
): Promise<Map<Kind, string[]>> {
  const stored = new Map<Kind, string[]>();
  for (const kind of kinds) {
    const ids: string[] = [];
    for await (const { externalId, syncStatus } of client.list(kind, { signal }))
      if (syncStatus === 'SYNCED') ids.push(externalId);
    stored.set(kind, ids);
  }
  return stored;
}

function whatOf({ id, status, reason, changedFields = [] }: Slot): string {
  if (status === 'rejected') return reason;
  return status === 'created' ? `${id} is not there` : `${id} differs in ${changedFields.join(', ')}`;
}

export function findingsInWords({ differences, shown }: Findings): string {
  if (differences === 0) return 'Both sides are equal.\n';
  const more = differences > shown.length ? [`and ${count(differences - shown.length)} more`] : [];
  return `${[`${counted(differences, 'difference')}:`, ...[...shown, ...more].map((line) => `  ${line}`)].join('\n')}\n`;
}
