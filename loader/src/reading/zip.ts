// Unpacks the parts of a zip file as streams, so no part is in memory as a whole. Checks size and CRC of each part.
import { open, type FileHandle } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { crc32, createInflateRaw } from 'node:zlib';
import { messageOf, Stop } from '../exit.ts';
import { shortened } from './source.ts';

interface Part {
  method: number;
  isEncrypted: boolean;
  crc: number;
  packedBytes: number;
  bytes: number;
  headerAt: number;
}

const endSignature = 0x06054b50;
const end64Signature = 0x06064b50;
const locator64Signature = 0x07064b50;
const partSignature = 0x02014b50;
const endBytes = 22;
const locator64Bytes = 20;
const commentBytesMax = 65_535;
const directoryBytesMax = 16 * 1024 * 1024;
const pieceBytes = 64 * 1024;
/** The limit of the unpacked size of one part. */
const unpackedBytesMax = 512 * 1024 * 1024;
/** Stands in a 32-bit field whose number needs 64 bits, and is in the extra field. */
const elsewhere = 0xffff_ffff;
/** The signature of Office files with a password, and of workbooks from before 2007 (.xls). */
const compoundFile = Buffer.from('d0cf11e0a1b11ae1', 'hex');

export class Zip implements AsyncDisposable {
  readonly #file: FileHandle;
  readonly #where: string;
  readonly #parts = new Map<string, Part>();

  private constructor(file: FileHandle, where: string) {
    this.#file = file;
    this.#where = where;
  }

  static async open(path: string): Promise<Zip> {
    const zip = new Zip(await open(path), shortened(path));
    try {
      await zip.#readDirectory();
      return zip;
    } catch (error) {
      await zip[Symbol.asyncDispose]();
      throw error;
    }
  }

  has(name: string): boolean {
    return this.#parts.has(plain(name));
  }

  broken(why: string, cause?: unknown): Stop {
    return new Stop(`${this.#where} is broken (${why}): save it again.`, undefined, { cause });
  }

  async *read(name: string): AsyncGenerator<Buffer, void, undefined> {
    const part = this.#parts.get(plain(name));
    if (part === undefined) throw this.broken(`${name} is missing`);
    if (part.isEncrypted) throw this.#encrypted();
    if (part.bytes > unpackedBytesMax)
      throw new Stop(`${this.#where} unpacks to more than 512 MiB (${name}): save the sheet as CSV.`);
    let bytes = 0;
    let crc = 0;
    try {
      for await (const chunk of this.#unpacked(part)) {
        bytes += chunk.length;
        if (bytes > part.bytes) break;
        crc = crc32(chunk, crc);
        yield chunk;
      }
    } catch (error) {
      throw error instanceof Stop ? error : this.broken(`${name}: ${messageOf(error)}`, error);
    }
    if (bytes !== part.bytes || crc !== part.crc)
      throw this.broken(`${name} is not what the directory says of it`);
  }

  async *#unpacked({ headerAt, method, packedBytes }: Part): AsyncGenerator<Buffer, void, undefined> {
    const header = await this.#bytes(headerAt, 30);
    const packed = this.#pieces(
      headerAt + 30 + header.readUInt16LE(26) + header.readUInt16LE(28),
      packedBytes,
    );
    if (method === 0) {
      yield* packed;
      return;
    }
    if (method !== 8) throw this.broken(`method ${method} of packing`);
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

  async *#pieces(from: number, length: number): AsyncGenerator<Buffer, void, undefined> {
    for (let at = 0; at < length; at += pieceBytes)
      yield await this.#bytes(from + at, Math.min(pieceBytes, length - at));
  }

  async #readDirectory(): Promise<void> {
    const { size } = await this.#file.stat();
    if ((await this.#bytes(0, Math.min(size, 8))).equals(compoundFile)) throw this.#encrypted();
    const tailBytes = Math.min(size, locator64Bytes + endBytes + commentBytesMax);
    const tail = await this.#bytes(size - tailBytes, tailBytes);
    let end = tail.length - endBytes;
    while (end >= 0 && tail.readUInt32LE(end) !== endSignature) end -= 1;
    if (end < 0) throw this.#noWorkbook();
    let length = tail.readUInt32LE(end + 12);
    let from = tail.readUInt32LE(end + 16);
    const locator = end - locator64Bytes;
    if (locator >= 0 && tail.readUInt32LE(locator) === locator64Signature) {
      const end64 = await this.#bytes(number64(tail, locator + 8), 56);
      if (end64.readUInt32LE(0) !== end64Signature) throw this.#noWorkbook();
      length = number64(end64, 40);
      from = number64(end64, 48);
    }
    if (length > directoryBytesMax) throw this.#noWorkbook();
    this.#listParts(await this.#bytes(from, length));
  }

  #listParts(directory: Buffer): void {
    for (let at = 0; at + 46 <= directory.length;) {
      if (directory.readUInt32LE(at) !== partSignature) throw this.#noWorkbook();
      const nameEnd = at + 46 + directory.readUInt16LE(at + 28);
      const extraEnd = nameEnd + directory.readUInt16LE(at + 30);
      const numbers = [24, 20, 42].map((offset) => directory.readUInt32LE(at + offset));
      const [bytes = 0, packedBytes = 0, headerAt = 0] = in64Bits(
        numbers,
        directory.subarray(nameEnd, extraEnd),
      );
      this.#parts.set(plain(directory.toString('utf8', at + 46, nameEnd)), {
        isEncrypted: (directory.readUInt16LE(at + 8) & 1) === 1,
        method: directory.readUInt16LE(at + 10),
        crc: directory.readUInt32LE(at + 16),
        bytes,
        packedBytes,
        headerAt,
      });
      at = extraEnd + directory.readUInt16LE(at + 32);
    }
  }

  async #bytes(position: number, length: number): Promise<Buffer> {
    if (!Number.isSafeInteger(position)) throw this.broken('it ends too soon');
    const { buffer, bytesRead } = await this.#file.read(Buffer.alloc(length), 0, length, position);
    if (bytesRead < length) throw this.broken('it ends too soon');
    return buffer;
  }

  #noWorkbook = (): Stop =>
    new Stop(`${this.#where} is no Excel workbook (.xlsx): save it as one, or as CSV.`);

  #encrypted = (): Stop =>
    new Stop(
      `${this.#where} has a password, or is a workbook of Excel 97 (.xls): save it as .xlsx without a password.`,
    );

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file.close();
  }
}

/** Names of parts are compared without case, and some writers use backslashes. */
const plain = (name: string): string => name.replaceAll('\\', '/').replace(/^\//, '').toLowerCase();

const number64 = (bytes: Buffer, at: number): number => Number(bytes.readBigUInt64LE(at));

/** Replaces the numbers that need 64 bits: the extra field has them in this order. */
function in64Bits(numbers: readonly number[], extra: Buffer): number[] {
  for (let at = 0; at + 4 <= extra.length; at += 4 + extra.readUInt16LE(at + 2)) {
    if (extra.readUInt16LE(at) !== 1) continue;
    let next = at + 4;
    return numbers.map((number) => {
      if (number !== elsewhere || next + 8 > extra.length) return number;
      next += 8;
      return number64(extra, next - 8);
    });
  }
  return [...numbers];
}
