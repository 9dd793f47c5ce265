// Files as an ERP exports them, for loads: semicolons, windows-1252, decimal commas, and a bad row in a thousand.
import { appendFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { temporaryFolder } from './temporary.ts';

export interface Files extends AsyncDisposable {
  folder: string;
  paths: string[];
}

const rowsPerBlock = 10_000;

const kinds = ['suppliers', 'products', 'batches'] as const;

/** Makes files with so many rows in all: a tenth suppliers, three tenths products, the rest batches. */
export async function filesOf(rows: number): Promise<Files> {
  const counts = { suppliers: rows / 10, products: (rows * 3) / 10, batches: (rows * 6) / 10 };
  const { folder } = await temporaryFolder();
  for (const kind of kinds) {
    const path = join(folder, `${kind}.csv`);
    await appendFile(path, `${heads[kind]}\r\n`);
    for (let from = 0; from < counts[kind]; from += rowsPerBlock) {
      const length = Math.min(rowsPerBlock, counts[kind] - from);
      const lines = Array.from({ length }, (_, index) => `${lineOf[kind](from + index, counts)}\r\n`);
      await appendFile(path, Buffer.from(lines.join(''), 'latin1'));
    }
  }
  const paths = kinds.map((kind) => join(folder, `${kind}.csv`));
  return { folder, paths, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) };
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
