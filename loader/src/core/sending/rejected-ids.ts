// Restores the leading zeros of ids in rejected rows: a spreadsheet saves ids without them, because it reads ids as numbers.
// Without the original ids, the rows would become other records.
import { Stop } from '../exit.ts';
import { Wrong } from '../mapping/convert.ts';
import { idIn, type Item } from '../mapping/items.ts';
import { placeOf, type Source } from '../reading/source.ts';
import { isRejectsOf, type History } from './history.ts';

const shownMax = 3;

const withoutZeros = (id: string): string => id.replace(/^0+(?=\d)/, '');

/** The source of rows; with restored ids, if it has rejected rows of the last load of its kind. */
export async function withRejectedIds(source: Source, history: History): Promise<Source> {
  const { kind } = source.input;
  const rejected = new Set(history[kind]?.rejectedIds);
  const padded = [...rejected].filter((id) => /^0\d+$/.test(id));
  const isRejects = source.isRejects || isRejectsOf(history, source.input);
  if (!isRejects || padded.length === 0) return source;
  const byShort = new Map<string, string[]>();
  for (const id of padded) byShort.set(withoutZeros(id), [...(byShort.get(withoutZeros(id)) ?? []), id]);
  const mended = new Set<string>();
  const idOf = (id: unknown, row?: number): string | undefined => {
    if (typeof id !== 'string' || rejected.has(id)) return undefined;
    const [own, other] = byShort.get(id) ?? [];
    if (other === undefined) return own;
    throw new Stop(
      `${placeOf(source.input)}${row === undefined ? '' : `, row ${row}`}: "${id}" has lost its leading zeros, and is "${own}" or "${other}". Repair it in the file.`,
    );
  };
  // All rows are checked before the first row is sent.
  for await (const rows of source.rows())
    for (const { number, made } of rows) {
      const id = idOf(idIn(made), number);
      if (id !== undefined) mended.add(id);
    }
  if (mended.size === 0) return source;
  const mend = (made: Item | Wrong): Item | Wrong => {
    const id = idOf(idIn(made));
    if (id === undefined) return made;
    return made instanceof Wrong ? new Wrong(made.reason, id) : { ...made, externalId: id };
  };
  const shown = [...mended].slice(0, shownMax).map((id) => `"${id}"`);
  const more = mended.size > shownMax ? [`${mended.size - shownMax} more`] : [];
  return {
    ...source,
    notes: [
      `ids have lost their leading zeros, and are loaded as ${[...shown, ...more].join(', ')}`,
      ...source.notes,
    ],
    make: (raw) => mend(source.make(raw)),
    async *rows() {
      for await (const rows of source.rows())
        yield rows.map(({ number, made, raw }) => ({ number, made: mend(made), raw }));
    },
  };
}
