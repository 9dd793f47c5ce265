// Unpacks the parts of a zip file as streams, so no part is in memory as a whole. Checks size and CRC of each part.
import { platform } from '#platform';
import type { OpenedFile } from '../platform.ts';
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
/** The limit on the unpacked size of one part. */
const unpackedBytesMax = 512 * 1024 * 1024;
/** The value of a 32-bit field whose number needs 64 bits: the extra field has the number. */
const elsewhere = 0xffff_ffff;
/** The signature of Office files with a password, and of workbooks from before 2007 (.xls). */
const compoundFile = '\u00d0\u00cf\u0011\u00e0\u00a1\u00b1\u001a\u00e1';

export class Zip implements AsyncDisposable {
  readonly #file: OpenedFile;
  readonly #where: string;
  readonly #parts = new Map<string, Part>();

  private constructor(file: OpenedFile, where: string) {
    this.#file = file;
    this.#where = where;
  }

  static async open(path: string): Promise<Zip> {
    const zip = new Zip(await platform.open(path), shortened(path));
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

  async *read(name: string): AsyncGenerator<Uint8Array, void, undefined> {
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
        crc = platform.crc32(chunk, crc);
        yield chunk;
      }
    } catch (error) {
      throw error instanceof Stop ? error : this.broken(`${name}: ${messageOf(error)}`, error);
    }
    if (bytes !== part.bytes || crc !== part.crc)
      throw this.broken(`${name} has another size or checksum than noted`);
  }

  async *#unpacked({ headerAt, method, packedBytes }: Part): AsyncGenerator<Uint8Array, void, undefined> {
    const header = await this.#bytes(headerAt, 30);
    const packed = this.#pieces(headerAt + 30 + uint16(header, 26) + uint16(header, 28), packedBytes);
    if (method === 0) {
      yield* packed;
      return;
    }
    if (method !== 8) throw this.broken(`method ${method} of packing`);
    yield* platform.inflate(packed);
  }

  async *#pieces(from: number, length: number): AsyncGenerator<Uint8Array, void, undefined> {
    for (let at = 0; at < length; at += pieceBytes)
      yield await this.#bytes(from + at, Math.min(pieceBytes, length - at));
  }

  async #readDirectory(): Promise<void> {
    const { size } = this.#file;
    if (platform.latin1(await this.#bytes(0, Math.min(size, 8))) === compoundFile) throw this.#encrypted();
    const tailBytes = Math.min(size, locator64Bytes + endBytes + commentBytesMax);
    const tail = await this.#bytes(size - tailBytes, tailBytes);
    let end = tail.length - endBytes;
    while (end >= 0 && uint32(tail, end) !== endSignature) end -= 1;
    if (end < 0) throw this.#noWorkbook();
    let length = uint32(tail, end + 12);
    let from = uint32(tail, end + 16);
    const locator = end - locator64Bytes;
    if (locator >= 0 && uint32(tail, locator) === locator64Signature) {
      const end64 = await this.#bytes(number64(tail, locator + 8), 56);
      if (uint32(end64, 0) !== end64Signature) throw this.#noWorkbook();
      length = number64(end64, 40);
      from = number64(end64, 48);
    }
    if (length > directoryBytesMax) throw this.#noWorkbook();
    this.#listParts(await this.#bytes(from, length));
  }

  #listParts(directory: Uint8Array): void {
    for (let at = 0; at + 46 <= directory.length;) {
      if (uint32(directory, at) !== partSignature) throw this.#noWorkbook();
      const nameEnd = at + 46 + uint16(directory, at + 28);
      const extraEnd = nameEnd + uint16(directory, at + 30);
      const numbers = [24, 20, 42].map((offset) => uint32(directory, at + offset));
      const [bytes = 0, packedBytes = 0, headerAt = 0] = in64Bits(
        numbers,
        directory.subarray(nameEnd, extraEnd),
      );
      this.#parts.set(plain(platform.utf8(directory, at + 46, nameEnd)), {
        isEncrypted: (uint16(directory, at + 8) & 1) === 1,
        method: uint16(directory, at + 10),
        crc: uint32(directory, at + 16),
        bytes,
        packedBytes,
        headerAt,
      });
      at = extraEnd + uint16(directory, at + 32);
    }
  }

  async #bytes(position: number, length: number): Promise<Uint8Array> {
    if (!Number.isSafeInteger(position)) throw this.broken('unexpected end');
    const bytes = await this.#file.read(position, length);
    if (bytes.length < length) throw this.broken('unexpected end');
    return bytes;
  }

  #noWorkbook = (): Stop =>
    new Stop(`${this.#where} is no Excel workbook (.xlsx): save it as one, or as CSV.`);

  #encrypted = (): Stop =>
    new Stop(
      `${this.#where} has a password, or is a workbook of Excel 97 (.xls): save it as .xlsx without a password.`,
    );

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file[Symbol.asyncDispose]();
  }
}

/** The name of a part for comparison: in lower case, and with slashes, because some writers use backslashes. */
const plain = (name: string): string => name.replaceAll('\\', '/').replace(/^\//, '').toLowerCase();

const viewOf = (bytes: Uint8Array): DataView =>
  new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
const uint16 = (bytes: Uint8Array, at: number): number => viewOf(bytes).getUint16(at, true);
const uint32 = (bytes: Uint8Array, at: number): number => viewOf(bytes).getUint32(at, true);
const number64 = (bytes: Uint8Array, at: number): number => Number(viewOf(bytes).getBigUint64(at, true));

/** Replaces the numbers that need 64 bits by those of the extra field, which has them in the same order. */
function in64Bits(numbers: readonly number[], extra: Uint8Array): number[] {
  for (let at = 0; at + 4 <= extra.length; at += 4 + uint16(extra, at + 2)) {
    if (uint16(extra, at) !== 1) continue;
    let next = at + 4;
    return numbers.map((number) => {
      if (number !== elsewhere || next + 8 > extra.length) return number;
      next += 8;
      return number64(extra, next - 8);
    });
  }
  return [...numbers];
}
