// What a zip file holds, without unpacking it to memory: an .xlsx of some kilobytes can unpack to gigabytes.
import { open, type FileHandle } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { createInflateRaw } from 'node:zlib';
import { Stop } from '../exit.ts';

export interface ZipEntry {
  name: string;
  method: number;
  packedBytes: number;
  headerAt: number;
}

const endSignature = 0x06054b50;
const entrySignature = 0x02014b50;
const endBytes = 22;
const commentBytesMax = 65_535;
const pieceBytes = 64 * 1024;

const noZip = (path: string): Stop =>
  new Stop(`${path} is no Excel workbook (.xlsx): save it as one, or as CSV.`);

export async function entriesOf(file: FileHandle, path: string): Promise<ZipEntry[]> {
  const { size } = await file.stat();
  const tailBytes = Math.min(size, endBytes + commentBytesMax);
  const tail = await read(file, size - tailBytes, tailBytes);
  let at = tail.length - endBytes;
  while (at >= 0 && tail.readUInt32LE(at) !== endSignature) at -= 1;
  if (at < 0) throw noZip(path);
  const directory = await read(file, tail.readUInt32LE(at + 16), tail.readUInt32LE(at + 12));
  const entries: ZipEntry[] = [];
  for (let from = 0; from + 46 <= directory.length;) {
    if (directory.readUInt32LE(from) !== entrySignature) throw noZip(path);
    const nameBytes = directory.readUInt16LE(from + 28);
    entries.push({
      name: directory.toString('utf8', from + 46, from + 46 + nameBytes),
      method: directory.readUInt16LE(from + 10),
      packedBytes: directory.readUInt32LE(from + 20),
      headerAt: directory.readUInt32LE(from + 42),
    });
    from += 46 + nameBytes + directory.readUInt16LE(from + 30) + directory.readUInt16LE(from + 32);
  }
  return entries;
}

export async function* inflate(
  file: FileHandle,
  { headerAt, packedBytes, method }: ZipEntry,
  path: string,
): AsyncGenerator<Buffer, void, undefined> {
  const header = await read(file, headerAt, 30);
  const from = headerAt + 30 + header.readUInt16LE(26) + header.readUInt16LE(28);
  const packed = piecesOf(file, from, packedBytes);
  if (method === 0) {
    yield* packed;
    return;
  }
  if (method !== 8) throw noZip(path);
  const source = Readable.from(packed);
  const unpacked = source.pipe(createInflateRaw());
  source.on('error', (error) => unpacked.destroy(error));
  try {
    yield* unpacked;
  } finally {
    source.destroy();
    unpacked.destroy();
  }
}

async function* piecesOf(
  file: FileHandle,
  from: number,
  length: number,
): AsyncGenerator<Buffer, void, undefined> {
  for (let at = 0; at < length; at += pieceBytes) {
    yield await read(file, from + at, Math.min(pieceBytes, length - at));
  }
}

export const openZip = (path: string): Promise<FileHandle> => open(path);

async function read(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, position);
  return buffer.subarray(0, bytesRead);
}
