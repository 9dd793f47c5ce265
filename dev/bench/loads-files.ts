// Files as an ERP exports them, for loads: semicolons, windows-1252, decimal commas, and a bad row in a thousand.
import { appendFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeWorkbook } from '../workbooks.ts';
import { temporaryFolder } from './temporary.ts';

export interface Files extends AsyncDisposable {
  folder: string;
  paths: string[];
}

const rowsPerBlock = 10_000;

type Counts = Readonly<Record<keyof typeof heads, number>>;

/** Makes files with so many rows in all: a tenth suppliers, three tenths products, the rest batches. */
export const filesOf = (rows: number): Promise<Files> =>
  filesWith({ suppliers: rows / 10, products: (rows * 3) / 10, batches: (rows * 6) / 10 });

export const suppliersFile = (rows: number): Promise<Files> =>
  filesWith({ suppliers: rows, products: 0, batches: 0 });

async function filesWith(counts: Counts): Promise<Files> {
  const { folder } = await temporaryFolder();
  const paths: string[] = [];
  for (const kind of ['suppliers', 'products', 'batches'] as const) {
    if (counts[kind] === 0) continue;
    const path = join(folder, `${kind}.csv`);
    await appendFile(path, `${heads[kind]}\r\n`);
    for (let from = 0; from < counts[kind]; from += rowsPerBlock) {
      const length = Math.min(rowsPerBlock, counts[kind] - from);
      const lines = Array.from({ length }, (_, index) => `${lineOf[kind](from + index, counts)}\r\n`);
      await appendFile(path, Buffer.from(lines.join(''), 'latin1'));
    }
    paths.push(path);
  }
  return { folder, paths, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) };
}

/** The same suppliers as a workbook, with shared texts, as Excel writes it. */
export async function suppliersWorkbook(rows: number): Promise<Files> {
  const { folder } = await temporaryFolder();
  const path = join(folder, 'suppliers.xlsx');
  const lines = Array.from({ length: rows }, (_, at) => lineOf.suppliers(at));
  const cells = [heads.suppliers, ...lines].map((line) => line.replaceAll('"', '').split(';'));
  await writeFile(path, makeWorkbook({ suppliers: cells }, {}, { isShared: true }));
  return { folder, paths: [path], [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) };
}

const heads = {
  suppliers: 'externalId;name;country;address;email;certifications;isEuOrigin',
  products: 'externalId;name;category;country;hsCode;unit;supplierExternalId',
  batches: 'externalId;productExternalId;batchNumber;quantity;unit;receivedDate;expiryDate',
};

const id = (letter: string, number: number): string => `${letter}-${String(number).padStart(8, '0')}`;
const day = (number: number): string =>
  `${String((number % 28) + 1).padStart(2, '0')}.${String((number % 12) + 1).padStart(2, '0')}.2026`;
const isBad = (number: number): boolean => number % 1_000 === 999;

const lineOf = {
  suppliers: (number: number) =>
    `${id('S', number)};Sägewerk Müller & Söhne ${number};${isBad(number) ? 'Deutschland' : 'DE'};Am Bach ${number % 300}, 94469 Deggendorf;einkauf@mueller-${number}.example;"FSC,PEFC";ja`,
  products: (number: number, { suppliers }: { suppliers: number }) =>
    `${id('P', number)};Eiche gehobelt ${number % 90} mm;Schnittholz;${isBad(number) ? 'Österreich' : 'AT'};440791;m3;${id('S', Math.floor(number / 3) % suppliers)}`,
  batches: (number: number, { products }: { products: number }) =>
    `${id('B', number)};${id('P', Math.floor(number / 2) % products)};Los ${number} Größe;${isBad(number) ? '-' : ''}${(number % 9) + 1}.${String(number % 1_000).padStart(3, '0')},5;kg;${day(number)};${day(number + 7)}`,
};
