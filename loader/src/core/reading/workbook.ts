// Reads a sheet of an Excel workbook row by row: only the shared texts and a part of the sheet are in memory.
import { messageOf, Stop } from '../exit.ts';
import { Wrong, type Cell } from '../mapping/convert.ts';
import { placeOf, shortened, type Input } from './source.ts';
import { styleOf, type Style } from './number-formats.ts';
import { Texts } from './texts.ts';
import { attributesOf, XmlScanner, type XmlEvents } from './xml.ts';
import { Zip } from './zip.ts';

export interface Sheet {
  name: string;
  isHidden: boolean;
}

/** A row of a sheet. `cells` is indexed by column, and has no entries for empty cells. */
export interface SheetRow {
  number: number;
  cells: readonly Cell[];
}

const rowsMax = 250_000;
/** The limit of Excel on the characters of a cell. */
const cellCharactersMax = 32_767;
/** An escaped character, such as `_x000D_`, has seven characters in the file. */
const escapedCharactersMax = 7 * cellCharactersMax;
/** The number of columns in Excel, whose last column is XFD. */
const columnsMax = 16_384;

export async function sheetsOf(path: string): Promise<Sheet[]> {
  await using zip = await Zip.open(path);
  const { sheets } = await readBook(zip);
  if (sheets.length === 0) throw new Stop(`${shortened(path)} has no sheets: is it an Excel workbook?`);
  return sheets;
}

/**
 * The non-empty rows of a sheet, in batches. Rows after the first `wanted` rows are checked, but come without their shared texts.
 */
export async function* sheetRows(
  input: Pick<Input, 'path' | 'sheet'>,
  wanted = Infinity,
): AsyncGenerator<SheetRow[], void, undefined> {
  const { path, sheet: name } = input;
  await using zip = await Zip.open(path);
  const book = await readBook(zip);
  const sheet = book.sheets.find((one) => one.name === name);
  if (sheet === undefined) throw new Stop(`${placeOf(input)} is not there any more.`);
  const texts = await readTexts(zip, book.textsPart);
  const styles = await readStyles(zip, book.stylesPart);
  const reader = new SheetReader({ texts, styles, is1904: book.is1904, wanted });
  let count = 0;
  for await (const _ of scan(zip, sheet.part, reader)) {
    const rows = reader.taken();
    count += rows.length;
    if (count > rowsMax) {
      throw new Stop(`${placeOf(input)}: more than 250,000 rows. Save it as CSV, which may have any number.`);
    }
    if (rows.length > 0) yield rows;
  }
}

/** Scans a part of the workbook. Yields after each chunk, so that the caller can take the rows that were found in the chunk. */
async function* scan(zip: Zip, part: string, on: XmlEvents): AsyncGenerator<void, void, undefined> {
  const scanner = new XmlScanner(on);
  let decoder: TextDecoder | undefined;
  try {
    for await (const chunk of zip.read(part)) {
      decoder ??= new TextDecoder(encodingOf(chunk), { fatal: true });
      scanner.push(decoder.decode(chunk, { stream: true }));
      yield;
    }
    scanner.push(decoder?.decode() ?? '');
    scanner.end();
  } catch (error) {
    throw error instanceof Stop ? error : zip.broken(`${part}: ${messageOf(error)}`, error);
  }
}

const encodingOf = (start: Uint8Array): string =>
  start[0] === 0xff ? 'utf-16le' : start[0] === 0xfe ? 'utf-16be' : 'utf-8';

async function scanAll(zip: Zip, part: string | undefined, on: XmlEvents): Promise<void> {
  if (part === undefined || !zip.has(part)) return;
  for await (const _ of scan(zip, part, on));
}

interface Book {
  sheets: (Sheet & { part: string })[];
  is1904: boolean;
  textsPart: string | undefined;
  stylesPart: string | undefined;
}

async function readBook(zip: Zip): Promise<Book> {
  const [bookPart = 'xl/workbook.xml'] = [...(await relationsOf(zip, '')).values()]
    .filter(({ type }) => type === 'officeDocument')
    .map(({ part }) => part);
  if (bookPart.endsWith('.bin')) throw new Stop('A binary workbook (.xlsb) is not read: save it as .xlsx.');
  const relations = await relationsOf(zip, bookPart);
  const partOf = (wanted: string) => [...relations.values()].find(({ type }) => type === wanted)?.part;
  const book: Book = {
    sheets: [],
    is1904: false,
    textsPart: partOf('sharedStrings'),
    stylesPart: partOf('styles'),
  };
  await scanAll(zip, bookPart, {
    open(tagName, tag) {
      const { date1904, name = '', state = 'visible', id = '' } = attributesOf(tag);
      if (tagName === 'workbookPr') book.is1904 = isTrue(date1904);
      const relation = relations.get(id);
      // Only worksheets are listed: a sheet may also be a chart, which has no rows.
      if (tagName === 'sheet' && relation?.type === 'worksheet')
        book.sheets.push({ name: unescaped(name), isHidden: state !== 'visible', part: relation.part });
    },
  });
  return book;
}

interface Relation {
  /** The type of the relation: the last part of the type's URL, such as `worksheet`. */
  type: string;
  part: string;
}

/** The relations of a part, by their ids. An empty `part` stands for the workbook file itself. */
async function relationsOf(zip: Zip, part: string): Promise<Map<string, Relation>> {
  const relations = new Map<string, Relation>();
  const base = new URL(part, 'zip:///');
  await scanAll(zip, part.replace(/(?<![^/])[^/]*$/, '_rels/$&.rels'), {
    open(tagName, tag) {
      const { Id = '', Type = '', Target = '' } = attributesOf(tag);
      if (tagName !== 'Relationship' || !URL.canParse(Target, base)) return;
      const { pathname } = new URL(Target, base);
      relations.set(Id, { type: Type.replace(/^.*\//, ''), part: decodeURIComponent(pathname).slice(1) });
    },
  });
  return relations;
}

async function readTexts(zip: Zip, part: string | undefined): Promise<Texts> {
  const texts = new Texts();
  const entry = new TextReader();
  await scanAll(zip, part, {
    open: (name) => entry.open(name),
    text: (text) => entry.add(text),
    close(name) {
      entry.close(name);
      if (name === 'si') texts.add(cellText(entry.taken()));
    },
  });
  return texts;
}

/** How each cell style shows a number. */
async function readStyles(zip: Zip, part: string | undefined): Promise<Style[]> {
  const formats = new Map<string, Style>();
  const styles: Style[] = [];
  // Only the `xf` elements within `cellXfs` are styles of cells. Those of `cellStyleXfs`, which comes first, are not.
  let isOfCells = false;
  await scanAll(zip, part, {
    open(name, tag) {
      if (name === 'cellXfs') isOfCells = true;
      if (name !== 'numFmt' && (name !== 'xf' || !isOfCells)) return;
      const { numFmtId = '0', formatCode = '' } = attributesOf(tag);
      if (name === 'numFmt') formats.set(numFmtId, isDateFormat(formatCode) ? 'day' : styleOf(formatCode));
      else styles.push(formats.get(numFmtId) ?? (isBuiltInDate(Number(numFmtId)) ? 'day' : 'plain'));
    },
  });
  return styles;
}

/**
 * Whether an id is a built-in date format, by ECMA-376, 18.8.30. Ids from 27 to 36 and from 50 are formats of Asian languages.
 */
const isBuiltInDate = (id: number): boolean =>
  (id >= 14 && id <= 22) || (id >= 27 && id <= 36) || (id >= 45 && id <= 47) || (id >= 50 && id <= 58);

/** Whether a number format has letters of a date. Quoted and escaped text, widths, fillings and brackets do not count. */
const isDateFormat = (code: string): boolean =>
  /[dmyhs]/i.test(code.replaceAll(/"[^"]*"?|[\\_*].|\[[^\]]*\]?/g, ''));

/** Collects the text of a cell or shared text from its runs, without phonetic text (`rPh`). */
class TextReader {
  #text = '';
  #isText = false;
  #isPhonetic = false;

  open(name: string): void {
    if (name === 't' || name === 'v') this.#isText = !this.#isPhonetic;
    else if (name === 'rPh') this.#isPhonetic = true;
  }

  add(text: string): void {
    if (!this.#isText) return;
    if (this.#text.length + text.length > escapedCharactersMax) throw longCell();
    this.#text += text;
  }

  close(name: string): void {
    if (name === 't' || name === 'v') this.#isText = false;
    else if (name === 'rPh') this.#isPhonetic = false;
  }

  taken(): string {
    const text = this.#text;
    this.#text = '';
    return text;
  }
}

interface Reading {
  texts: Texts;
  styles: readonly Style[];
  is1904: boolean;
  wanted: number;
}

class SheetReader implements XmlEvents {
  readonly #reading: Reading;
  readonly #content = new TextReader();
  #rows: SheetRow[] = [];
  #count = 0;
  #number = 0;
  #cells: Cell[] = [];
  #column = -1;
  #isFilled = false;
  #isFormula = false;
  #type = 'n';
  #style = 0;

  constructor(reading: Reading) {
    this.#reading = reading;
  }

  taken(): SheetRow[] {
    const rows = this.#rows;
    this.#rows = [];
    return rows;
  }

  open(name: string, tag: string): void {
    if (name === 'c') {
      const { r, t = 'n', s = '0' } = attributesOf(tag);
      // A cell may have no reference such as C7: then it follows the cell before.
      this.#column = r === undefined ? this.#column + 1 : columnOf(r);
      if (this.#column >= columnsMax) throw new Error(`Excel has no column ${r}`);
      this.#type = t;
      this.#style = Number(s);
      this.#isFormula = false;
    } else if (name === 'row') {
      const { r } = attributesOf(tag);
      this.#number = r === undefined ? this.#number + 1 : Number(r);
      this.#cells = [];
      this.#column = -1;
      this.#isFilled = false;
    } else if (name === 'f') this.#isFormula = true;
    else this.#content.open(name);
  }

  text(text: string): void {
    this.#content.add(text);
  }

  close(name: string): void {
    if (name === 'c') {
      const cell = this.#cell(this.#content.taken());
      if (cell === null || cell === '') return;
      this.#cells[this.#column] = cell;
      this.#isFilled = true;
    } else if (name === 'row') {
      if (!this.#isFilled) return;
      this.#count += 1;
      this.#rows.push({ number: this.#number, cells: this.#cells });
    } else this.#content.close(name);
  }

  #cell(content: string): Cell {
    const type = this.#type;
    if (type === 'str' || type === 'inlineStr') return cellText(content);
    if (content === '')
      return this.#isFormula
        ? new Wrong('a formula without a result: open the file in Excel, and save it')
        : null;
    if (type === 'b') return isTrue(content);
    if (type === 'e') return new Wrong(`${content} is an error of a formula`);
    // A time without a zone is read as UTC, not as local time of this machine.
    if (type === 'd') return dayOr(new Date(/T[^TZ+-]*$/.test(content) ? `${content}Z` : content), content);
    const number = Number(content);
    const { styles, is1904 } = this.#reading;
    const cell = type === 's' ? this.#text(number) : number;
    if (cell === undefined || Number.isNaN(cell))
      throw new Error(`row ${this.#number}: the value ${content} cannot be read`);
    if (typeof cell !== 'number') return cell;
    const style = styles[this.#style] ?? 'plain';
    if (style === 'plain') return cell;
    return style === 'day' ? dayOr(dateOf(cell, is1904), content) : style(cell);
  }

  #text(index: number): string | undefined {
    const { texts, wanted } = this.#reading;
    if (this.#count < wanted) return texts.at(index);
    const bytes = texts.bytesOf(index);
    if (bytes === undefined) return undefined;
    return bytes === 0 ? '' : notWanted;
  }
}

/** Stands for each text in rows after the first `wanted` ones, whose texts the caller does not use. */
const notWanted = '…';

const dayOr = (day: Date, content: string): Date | Wrong =>
  Number.isNaN(day.getTime()) ? new Wrong(`${content} is no day, as its format says`) : day;

const dayMs = 86_400_000;
/** Excel counts days from 1899-12-30 or, in workbooks of old Macs, from 1904-01-01. */
const dateOf = (days: number, is1904: boolean): Date =>
  new Date(Math.round((days + (is1904 ? 1_462 : 0)) * dayMs) + Date.UTC(1899, 11, 30));

/** The column index of a cell reference: 2 for `C7`. */
function columnOf(place: string): number {
  let column = 0;
  for (let at = 0; at < place.length; at += 1) {
    const letter = place.charCodeAt(at) - 0x40;
    if (letter < 1 || letter > 26) break;
    column = column * 26 + letter;
  }
  return column - 1;
}

const isTrue = (value: string | undefined): boolean => value === '1' || value === 'true';

/** Excel writes a character that XML cannot have as `_x000D_`, and an underscore before such a text as `_x005F_`. */
const unescaped = (text: string): string =>
  text.includes('_x')
    ? text.replaceAll(/_x([\da-f]{4})_/gi, (_whole, code: string) =>
        String.fromCharCode(Number.parseInt(code, 16)),
      )
    : text;

function cellText(escaped: string): string {
  const text = unescaped(escaped);
  if (text.length > cellCharactersMax) throw longCell();
  return text;
}

const longCell = (): Error => new Error('a cell of more than 32,767 characters, which Excel does not take');
