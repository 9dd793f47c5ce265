// What the core needs of the machine that it runs on: the bytes of files, unpacking, and encodings. The command has Node.js
// (platform/node.ts), the console has a browser (platform/browser.ts); `#platform` in package.json chooses.

/** Decodes and encodes text in an encoding that is given by its name. */
export interface Encodings {
  has(name: string): boolean;
  decode(bytes: Uint8Array, name: string): string;
  encode(text: string, name: string): Uint8Array;
  /** A decoder for bytes in chunks: a character may be split between two chunks. */
  decoder(name: string): { write(chunk: Uint8Array): string; end(): string };
}

/** An open file that can be read at any position. */
export interface OpenedFile extends AsyncDisposable {
  size: number;
  /** Reads `length` bytes at the position, or fewer at the end of the file. */
  read(position: number, length: number): Promise<Uint8Array>;
}

/** What a message advises a person to do: the command names its options, and the console names its controls. */
export interface Advice {
  kind: string;
  column: string;
  columnTwice: string;
  decimal: string;
  dates: string;
  encoding: string;
  /** Examples of encodings of DOS, which no browser has. */
  dos: string;
  quotes: string;
  unfinished: string;
  most: string;
}

export interface Platform {
  advice: Advice;
  /** Throws a Stop if the file is missing, a directory, or empty. */
  check(path: string): Promise<void>;
  /** The path of the file as messages show it. */
  shown(path: string): string;
  /** The path with which the file is opened. `basename` is the last part of a path. */
  resolve(file: string): string;
  basename(path: string): string;
  open(path: string): Promise<OpenedFile>;
  /**
   * A text that differs once the file has changed. It need not differ where reading a changed file fails anyway. Undefined if the
   * file is gone: an open file can still be read, and a missing file cannot be opened.
   */
  version(path: string): Promise<string | undefined>;
  /** The bytes of a file, unpacked if its name ends with .gz. A chunk is valid only until the next chunk is requested. */
  stream(path: string): AsyncGenerator<Uint8Array, void, undefined>;
  /** Unpacks the raw deflate of a zip file. */
  inflate(chunks: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array>;
  crc32(bytes: Uint8Array, before: number): number;
  isUtf8(bytes: Uint8Array): boolean;
  isAscii(bytes: Uint8Array): boolean;
  /** Decodes UTF-8. Invalid bytes become the replacement character. A BOM is kept. */
  utf8(bytes: Uint8Array, from?: number, to?: number): string;
  latin1(bytes: Uint8Array): string;
  encodings: Encodings;
}
