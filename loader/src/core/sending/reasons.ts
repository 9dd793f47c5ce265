// Why the service has rejected a row: its own words, behind the column that a person sees in the file.
import type { PushOutcome } from '@integration-sync/client';
import { namedColumn } from '../mapping/nearest.ts';

type Problem = PushOutcome['details'][number]['problems'][number];

/** The loader takes names of countries as well (mapping/countries.ts), of which the service does not know. */
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
