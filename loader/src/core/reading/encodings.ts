// Finds the encoding of a file: by its BOM or its zero bytes, else UTF-8 if all bytes are valid UTF-8, else windows-1252, which
// Excel writes in Europe.
import { platform } from '#platform';
import { copied, joined, utf8Bytes } from '../bytes.ts';
import { Stop } from '../exit.ts';

/** The encoding that a BOM shows, or UTF-16 without a BOM. `bomBytes` is the length of the BOM, which callers remove. */
export function encodingByBom(start: Uint8Array): { encoding: string; bomBytes: number } | undefined {
  if (start[0] === 0xef && start[1] === 0xbb && start[2] === 0xbf) return { encoding: 'utf-8', bomBytes: 3 };
  if (start[0] === 0xff && start[1] === 0xfe) return { encoding: 'utf-16le', bomBytes: 2 };
  if (start[0] === 0xfe && start[1] === 0xff) return { encoding: 'utf-16be', bomBytes: 2 };
  // A table begins with an ASCII character. In UTF-16, one of the two bytes of that character is 0.
  if (start[1] === 0) return { encoding: 'utf-16le', bomBytes: 0 };
  return start[0] === 0 ? { encoding: 'utf-16be', bomBytes: 0 } : undefined;
}

export function checkEncoding(name: string): string {
  if (!platform.encodings.has(name)) {
    throw new Stop(`"${name}" is no encoding: utf-8, windows-1252, iso-8859-15 and utf-16le are some.`);
  }
  return name.toLowerCase().replace(/^utf[-_ ]?(8|16(?:[lb]e)?)$/, 'utf-$1');
}

/** What decoders return for a byte without a character. For windows-1252, decoders of browsers return a control character. */
const missing = /[\ufffd\u0081\u008d\u008f\u0090\u009d]/;

/** Throws a `Stop` if the encoding lacks a byte of this text. `at` says where the text is. */
export function refuseMissing(text: string, encoding: string, at: string): void {
  if (missing.test(text)) throw noCharacter(encoding, at);
}

export const noCharacter = (encoding: string, at: string): Stop =>
  new Stop(
    `${at}: a byte has no character in ${encoding}: ${platform.advice.encoding}${encoding === 'utf-8' ? ', such as windows-1252' : platform.advice.dos}.`,
  );

/** Whether line ends and quotes are the same bytes as in ASCII, so that they are found without decoding. */
export const isLikeAscii = (encoding: string): boolean => !/^(?:utf-?16|utf-?32|ucs)/.test(encoding);

/** Converts chunks in an encoding that is not like ASCII, such as UTF-16, to UTF-8. */
export async function* toUtf8(
  chunks: AsyncIterable<Uint8Array>,
  encoding: string,
): AsyncGenerator<Uint8Array, void, undefined> {
  const decoder = platform.encodings.decoder(encoding);
  for await (const chunk of chunks) yield utf8Bytes(decoder.write(chunk));
  yield utf8Bytes(decoder.end());
}

/** Decodes a block. A block ends at the end of a record, so that no character is split. */
export function decodeBlock(block: Uint8Array, encoding: string): string {
  if (encoding === 'utf-8') return platform.utf8(block);
  return platform.isAscii(block) ? platform.latin1(block) : platform.encodings.decode(block, encoding);
}

export const decode = (bytes: Uint8Array, encoding: string): string =>
  platform.encodings.decode(bytes, encoding);

export const encode = (text: string, encoding: string): Uint8Array =>
  encoding === 'utf-8' ? utf8Bytes(text) : platform.encodings.encode(text, encoding);

/** Bytes for which windows-1252 has no character. */
const undefinedIn1252: ReadonlySet<number> = new Set([0x81, 0x8d, 0x8f, 0x90, 0x9d]);

const lineFeed = 0x0a;
/** The check ends after this number of invalid bytes: the file is certainly not UTF-8. */
const straysMax = 10_000;

export interface BrokenByte {
  byte: number;
  line: number;
}

/** Looks at all bytes of a file, to find out whether they are UTF-8 or windows-1252. */
export class ByteWatch {
  /** How many characters of more than one byte were found, as UTF-8. */
  characters = 0;
  /** How many bytes are not valid UTF-8. */
  strays = 0;
  firstStray: BrokenByte | undefined;
  /** The first byte that is valid neither in UTF-8 nor in windows-1252. */
  firstUndefined: BrokenByte | undefined;
  #lines = 0;
  #carried: Uint8Array = new Uint8Array();

  /** Checks the bytes of a chunk. `lines` is the number of lines before the chunk. */
  look(chunk: Uint8Array, lines: number): void {
    this.#lines = lines;
    const bytes = this.#carried.length === 0 ? chunk : joined([this.#carried, chunk]);
    const cut = bytes.length - unfinished(bytes);
    this.#walk(bytes.subarray(0, cut));
    this.#carried = copied(bytes.subarray(cut));
  }

  end(): void {
    this.#walk(this.#carried);
    this.#carried = new Uint8Array();
  }

  #walk(bytes: Uint8Array): void {
    if (this.strays < straysMax && !platform.isAscii(bytes)) this.#count(bytes);
  }

  #count(bytes: Uint8Array): void {
    const isGood = platform.isUtf8(bytes);
    for (let index = 0; index < bytes.length; index += 1) {
      const byte = bytes[index] ?? 0;
      if (byte < 0x80) continue;
      const length = lengthOf(byte);
      // This check avoids most calls of `isUtf8`: in other encodings, few bytes are followed by a continuation byte of UTF-8.
      const goesOn = length > 0 && ((bytes[index + 1] ?? 0) & 0xc0) === 0x80;
      const isCharacter = goesOn && (isGood || platform.isUtf8(bytes.subarray(index, index + length)));
      if (isCharacter && index + length <= bytes.length) {
        this.characters += 1;
        index += length - 1;
        continue;
      }
      this.strays += 1;
      this.firstStray ??= { byte, line: this.#lineAt(bytes, index) };
      if (undefinedIn1252.has(byte)) this.firstUndefined ??= { byte, line: this.#lineAt(bytes, index) };
    }
  }

  #lineAt(bytes: Uint8Array, index: number): number {
    let lines = this.#lines;
    for (let at = bytes.indexOf(lineFeed); at >= 0 && at < index; at = bytes.indexOf(lineFeed, at + 1))
      lines += 1;
    return lines + 1;
  }
}

const lengthOf = (byte: number): number => (byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc2 ? 2 : 0);

/** How many bytes at the end of a chunk belong to a character that continues in the next chunk. */
function unfinished(bytes: Uint8Array): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte < 0x80) return 0;
    if (byte >= 0xc0) return lengthOf(byte) > back ? back : 0;
  }
  return 0;
}
