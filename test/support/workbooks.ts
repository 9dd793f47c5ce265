// Workbooks as Excel writes them, as far as a reader can tell: texts inline, numbers, and days as numbers with a format.
import { crc32, deflateRawSync } from 'node:zlib';

/** Each entry may stand in the directory several times, and say that it unpacks to other than it does. */
export function zip(
  entries: Record<string, Buffer>,
  how: { times?: number; saidBytes?: number } = {},
): Buffer {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let at = 0;
  let entryCount = 0;
  for (const [name, content] of Object.entries(entries)) {
    const packed = deflateRawSync(content);
    const local = Buffer.alloc(30);
    local.writeUInt32LE(0x04034b50, 0);
    local.writeUInt16LE(8, 8);
    local.writeUInt32LE(crc32(content), 14);
    local.writeUInt32LE(packed.length, 18);
    local.writeUInt32LE(how.saidBytes ?? content.length, 22);
    local.writeUInt16LE(name.length, 26);
    const central = Buffer.alloc(46);
    central.writeUInt32LE(0x02014b50, 0);
    local.copy(central, 10, 8, 28);
    central.writeUInt32LE(at, 42);
    for (let count = 0; count < (how.times ?? 1); count += 1) directory.push(central, Buffer.from(name));
    parts.push(local, Buffer.from(name), packed);
    entryCount += how.times ?? 1;
    at += 30 + name.length + packed.length;
  }
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(entryCount, 8);
  end.writeUInt16LE(entryCount, 10);
  end.writeUInt32LE(Buffer.concat(directory).length, 12);
  end.writeUInt32LE(at, 16);
  return Buffer.concat([...parts, ...directory, end]);
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

function cellXml(cell: WrittenCell, at: string): string {
  if (cell === null) return '';
  if (typeof cell === 'string') return `<c r="${at}" t="inlineStr"><is><t>${escape(cell)}</t></is></c>`;
  if (typeof cell === 'number') return `<c r="${at}"><v>${cell}</v></c>`;
  if (typeof cell === 'boolean') return `<c r="${at}" t="b"><v>${Number(cell)}</v></c>`;
  const days = (Date.parse(cell.day) - Date.parse('1899-12-30')) / 86_400_000;
  return `<c r="${at}" s="1"><v>${days}</v></c>`;
}

export function makeWorkbook(sheets: Record<string, WrittenCell[][]>): Buffer {
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
      .join('')}<Relationship Id="rId99" Type="${rels}/styles" Target="styles.xml"/></Relationships>`,
    'xl/styles.xml': `<styleSheet ${main}><cellXfs count="2"><xf numFmtId="0"/><xf numFmtId="14" applyNumberFormat="1"/></cellXfs></styleSheet>`,
  };
  for (const [index, name] of names.entries()) {
    const rows = (sheets[name] ?? []).map(
      (cells, row) =>
        `<row r="${row + 1}">${cells.map((cell, column) => cellXml(cell, columnName(column) + (row + 1))).join('')}</row>`,
    );
    texts[`xl/worksheets/sheet${index + 1}.xml`] =
      `<worksheet ${main}><sheetData>${rows.join('')}</sheetData></worksheet>`;
  }
  return zip(
    Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, Buffer.from(head + text)])),
  );
}
