// The reason why a row is rejected. Where the service has rejected it: the message of the service, after the name of the column.
import type { PushOutcome } from '@integration-sync/client';
import { textOf } from '../mapping/convert.ts';
import { namedColumn } from '../mapping/nearest.ts';

type Problem = PushOutcome['details'][number]['problems'][number];

/**
 * An addition to the service's message about a country code: the loader also accepts names of countries (mapping/countries.ts).
 */
const alsoNames = '; or its name in English, German, French, Spanish or Italian';

export function reasonOf({ pointer, code, detail }: Problem, columns: ReadonlyMap<string, string>): string {
  const field = pointer.split('/')[3] ?? '';
  const column = columns.get(field);
  if (column === undefined) return detail;
  const said = field === 'country' && code === 'wrong_value' ? detail + alsoNames : detail;
  const named = namedColumn(column, field);
  if (named === column) return said;
  const own = `${field}: `;
  return `${named}: ${said.startsWith(own) ? said.slice(own.length) : said}`;
}

/** The first text of a row of totals, as reports have at their end. */
const totals =
  /^[\s"';,|]*(?:(?:grand |sub)?totals?|sum|(?:gesamt|zwischen)?summe|gesamt|somme|totale|suma)\b/i;

/** The reason, with a question if the row looks like one of totals. */
export function withQuestion(raw: unknown, reason: string): string {
  const text = String(Array.isArray(raw) ? raw.map(textOf) : raw);
  return totals.test(text) ? `${reason} (a row of totals? Take it out of the file)` : reason;
}
