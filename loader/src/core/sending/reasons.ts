// The reason why the service has rejected a row: the message of the service, after the name of the column in the file.
import type { PushOutcome } from '@integration-sync/client';
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
