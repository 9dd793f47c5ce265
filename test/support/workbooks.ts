// Workbooks as Excel writes them, as far as a reader can tell: texts, numbers, and days as numbers with a format.
import { crc32, deflateRawSync } from 'node:zlib';

export interface ZipForm {
  /** A false size of each part, for the directory of the zip file. */
  saidBytes?: number;
  crc?: number;
  isEncrypted?: boolean;
  /** Writes sizes and offsets as zip64, as in files over 4 GiB. */
  is64?: boolean;
  /** Stores the parts without compression. */
  isStored?: boolean;
}

export function zip(parts: Record<string, string | Buffer>, how: ZipForm = {}): Buffer {
  const locals: Buffer[] = [];
  const directory: Buffer[] = [];
  let at = 0;
  for (const [name, text] of Object.entries(parts)) {
    const content = Buffer.from(text);
    const packed = how.isStored === true ? content : deflateRawSync(content);
    const bytes = how.saidBytes ?? content.length;
    const local = Buffer.alloc(30);
    local.writeUInt32LE(0x04034b50, 0);
    local.writeUInt16LE(how.isEncrypted === true ? 1 : 0, 6);
    local.writeUInt16LE(how.isStored === true ? 0 : 8, 8);
    local.writeUInt32LE(how.crc ?? crc32(content), 14);
    local.writeUInt32LE(packed.length, 18);
    local.writeUInt32LE(bytes, 22);
    local.writeUInt16LE(name.length, 26);
    const central = Buffer.alloc(46);
    central.writeUInt32LE(0x02014b50, 0);
    local.copy(central, 8, 6, 28);
    central.writeUInt32LE(at, 42);
    const extra = how.is64 === true ? numbers64(bytes, packed.length, at) : Buffer.alloc(0);
    if (how.is64 === true) for (const place of [20, 24, 42]) central.writeUInt32LE(0xffff_ffff, place);
    central.writeUInt16LE(extra.length, 30);
    directory.push(central, Buffer.from(name), extra);
    locals.push(local, Buffer.from(name), packed);
    at += 30 + name.length + packed.length;
  }
  const directoryBytes = Buffer.concat(directory).length;
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(Object.keys(parts).length, 10);
  end.writeUInt32LE(how.is64 === true ? 0xffff_ffff : directoryBytes, 12);
  end.writeUInt32LE(how.is64 === true ? 0xffff_ffff : at, 16);
  const end64 = how.is64 === true ? ends64(directoryBytes, at) : [];
  return Buffer.concat([...locals, ...directory, ...end64, end]);
}

function numbers64(...numbers: number[]): Buffer {
  const extra = Buffer.alloc(4 + 8 * numbers.length);
  extra.writeUInt16LE(1, 0);
  extra.writeUInt16LE(8 * numbers.length, 2);
  for (const [index, number] of numbers.entries()) extra.writeBigUInt64LE(BigInt(number), 4 + 8 * index);
  return extra;
}

function ends64(directoryBytes: number, at: number): Buffer[] {
  const end64 = Buffer.alloc(56);
  end64.writeUInt32LE(0x06064b50, 0);
  end64.writeBigUInt64LE(BigInt(directoryBytes), 40);
  end64.writeBigUInt64LE(BigInt(at), 48);
  const locator = Buffer.alloc(20);
  locator.writeUInt32LE(0x07064b50, 0);
  locator.writeBigUInt64LE(BigInt(at + directoryBytes), 8);
  return [end64, locator];
}

export interface WorkbookForm extends ZipForm {
  /** Each text is once in the shared texts, as Excel writes it, and not in its cells. */
  isShared?: boolean;
}

export interface Day {
  day: string;
}
export type WrittenCell = string | number | boolean | Day | null;

const escape = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');

const columnName = (index: number): string =>
  index < 26
    ? String.fromCharCode(65 + index)
    : columnName(Math.floor(index / 26) - 1) + columnName(index % 26);

/** The number of each shared text; undefined where texts are in their cells. */
type SharedTexts = Map<string, number> | undefined;

function sharedCell(text: string, at: string, shared: Map<string, number>): string {
  const number = shared.get(text) ?? shared.size;
  shared.set(text, number);
  return `<c r="${at}" t="s"><v>${number}</v></c>`;
}

function cellXml(cell: WrittenCell, at: string, shared: SharedTexts): string {
  if (cell === null) return '';
  if (typeof cell === 'string' && shared !== undefined) return sharedCell(cell, at, shared);
  if (typeof cell === 'string') return `<c r="${at}" t="inlineStr"><is><t>${escape(cell)}</t></is></c>`;
  if (typeof cell === 'number') return `<c r="${at}"><v>${cell}</v></c>`;
  if (typeof cell === 'boolean') return `<c r="${at}" t="b"><v>${Number(cell)}</v></c>`;
  const days = (Date.parse(cell.day) - Date.parse('1899-12-30')) / 86_400_000;
  return `<c r="${at}" s="1"><v>${days}</v></c>`;
}

/** `parts` replace parts of the workbook, or add further parts. */
export function makeWorkbook(
  sheets: Record<string, WrittenCell[][]>,
  parts: Record<string, string | Buffer> = {},
  how: WorkbookForm = {},
): Buffer {
  const names = Object.keys(sheets);
  const head = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>';
  const main = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"';
  const rels = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
  const packageRels = 'xmlns="http://schemas.openxmlformats.org/package/2006/relationships"';
  const texts: Record<string, string> = {
    '_rels/.rels': `<Relationships ${packageRels}><Relationship Id="rId1" Type="${rels}/officeDocument" Target="xl/workbook.xml"/></Relationships>`,
    'xl/workbook.xml': `<workbook ${main} xmlns:r="${rels}"><sheets>${names
      .map((name, index) => `<sheet name="${escape(name)}" sheetId="${index + 1}" r:id="rId${index + 1}"/>`)
      .join('')}</sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': `<Relationships ${packageRels}>${names
      .map(
        (_name, index) =>
          `<Relationship Id="rId${index + 1}" Type="${rels}/worksheet" Target="worksheets/sheet${index + 1}.xml"/>`,
      )
      .join(
        '',
      )}<Relationship Id="rId98" Type="${rels}/sharedStrings" Target="/xl/sharedStrings.xml"/><Relationship Id="rId99" Type="${rels}/styles" Target="styles.xml"/></Relationships>`,
    'xl/styles.xml': `<styleSheet ${main}><cellXfs count="2"><xf numFmtId="0"/><xf numFmtId="14" applyNumberFormat="1"/></cellXfs></styleSheet>`,
  };
  const shared: SharedTexts = how.isShared === true ? new Map() : undefined;
  for (const [index, name] of names.entries()) {
    const rows = (sheets[name] ?? []).map(
      (cells, row) =>
        `<row r="${row + 1}">${cells.map((cell, column) => cellXml(cell, columnName(column) + (row + 1), shared)).join('')}</row>`,
    );
    texts[`xl/worksheets/sheet${index + 1}.xml`] =
      `<worksheet ${main}><sheetData>${rows.join('')}</sheetData></worksheet>`;
  }
  if (shared !== undefined)
    texts['xl/sharedStrings.xml'] = `<sst ${main}>${[...shared.keys()]
      .map((text) => `<si><t>${escape(text)}</t></si>`)
      .join('')}</sst>`;
  const own = Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, head + text]));
  return zip({ ...own, ...parts }, how);
}
