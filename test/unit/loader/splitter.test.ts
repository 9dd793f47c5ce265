import * as fc from 'fast-check';
import { parse } from 'csv-parse/sync';
import { expect, it } from 'vitest';
import { csvBlocks, parseRecords } from '../../../loader/src/core/reading/csv.ts';
import { Splitter } from '../../../loader/src/core/reading/splitter.ts';

const form = { delimiter: ';'.charCodeAt(0), quotes: true, where: 'suppliers.csv' };

/** As a file is read: every chunk is in the memory of the one before. */
async function* chunksOf(text: string, sizes: readonly number[]): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(text);
  const memory = Buffer.alloc(Math.max(...sizes));
  for (let at = 0, index = 0; at < bytes.length; index += 1) {
    const size = sizes[index % sizes.length] ?? 1;
    yield memory.subarray(0, bytes.copy(memory, 0, at, at + size));
    at += size;
  }
}

const rowsOf = async (text: string, sizes: readonly number[] = [7]): Promise<string[][]> =>
  (await Array.fromAsync(csvBlocks(chunksOf(text, sizes), 'utf-8', form))).flatMap((block) =>
    parseRecords(block, form),
  );

const cell = fc.string({ unit: fc.constantFrom('a', 'ü', '"', ';', '\n', '\r', ' '), maxLength: 6 });
const quoted = (text: string): string => (/[";\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

it('the CSV splitter agrees with csv-parse, for any chunks and line ends', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(
        fc.tuple(fc.array(cell, { minLength: 1, maxLength: 4 }), fc.constantFrom('\n', '\r\n', '\r')),
        {
          minLength: 1,
          maxLength: 8,
        },
      ),
      fc.array(fc.integer({ min: 0, max: 9 })).map((sizes) => sizes.concat(1)),
      async (rows, sizes) => {
        const text = rows.map(([cells, end]) => cells.map(quoted).join(';') + end).join('');
        const whole = parse(text, {
          delimiter: ';',
          relax_quotes: true,
          relax_column_count: true,
          record_delimiter: ['\r\n', '\n', '\r'],
        });
        expect(await rowsOf(text, sizes)).toEqual(whole);
      },
    ),
    { numRuns: 500 },
  );
});

it('the CSV splitter returns a last row without a line end, and empty lines as rows', async () => {
  expect(await rowsOf('a;b\n\nc;d')).toEqual([['a', 'b'], [''], ['c', 'd']]);
  expect(await rowsOf('a;b\r\n\r\nc;d\r')).toEqual([['a', 'b'], [''], ['c', 'd']]);
});

it('the CSV splitter keeps a quote within an unquoted cell', async () => {
  expect(await rowsOf('a;12" board\nb;"x"\n')).toEqual([
    ['a', '12" board'],
    ['b', 'x'],
  ]);
});

it('the CSV splitter names the line of an unclosed quote', async () => {
  await expect(rowsOf('a;b\n"c\nd";e\nf;"g\nh;i\n')).rejects.toThrow(
    'suppliers.csv, line 4: a quote is opened here and not closed. Close it, or say --no-quotes',
  );
});

it('the CSV splitter names the line in which text follows a closing quote', async () => {
  await expect(rowsOf('a;b\n"c\nd"e;f\n')).rejects.toThrow(
    'suppliers.csv, line 3: text follows a closing quote, which was opened in line 2.',
  );
});

it('the CSV splitter stops at a record of more than 1 MiB, and says whether an open quote is the reason', () => {
  const splitter = new Splitter(form);
  splitter.push(Buffer.from('a;b\n'));
  const chunk = Buffer.alloc(256 * 1024, 'x');
  const feed = (): void => {
    for (let count = 0; count < 400; count += 1) splitter.push(chunk);
  };
  expect(feed).toThrow('suppliers.csv, line 2: it is longer than 1 MiB. Is this the right file?');
  const other = new Splitter(form);
  other.push(Buffer.from('a;b\nc;"d\n'));
  expect(() => {
    for (let count = 0; count < 400; count += 1) other.push(chunk);
  }).toThrow('line 2: a quote is opened here and not closed');
});

it('the CSV splitter counts records and lines, and reports mixed line ends', () => {
  const splitter = new Splitter(form);
  splitter.push(Buffer.from('a;"b\r\nc"\r\nd;e\r'));
  splitter.push(Buffer.from('\nf;g'));
  splitter.end();
  const counting = new Splitter(form);
  for (const text of ['a;b\r', '\nc;"d\n', '";e\nf']) counting.count(Buffer.from(text));
  counting.end();
  expect([counting.records, counting.lines]).toEqual([3, 4]);
  expect({ records: splitter.records, lines: splitter.lines, isMixed: splitter.isMixed }).toEqual({
    records: 3,
    lines: 4,
    isMixed: false,
  });
  const mixed = new Splitter(form);
  mixed.push(Buffer.from('a\r\nb\nc\n'));
  expect(mixed.isMixed).toBe(true);
});
