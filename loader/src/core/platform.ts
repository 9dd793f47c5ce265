// What the core needs of the machine that it runs on: the bytes of files, unpacking, and encodings. The command has Node.js
// (platform/node.ts), a page has a browser (platform/browser.ts); `#platform` in package.json chooses.

/** Reads and writes one encoding or another, by its name. */
export interface Encodings {
  has(name: string): boolean;
  decode(bytes: Uint8Array, name: string): string;
  encode(text: string, name: string): Uint8Array;
  /** For bytes that come in chunks, which may cut a character. */
  decoder(name: string): { write(chunk: Uint8Array): string; end(): string };
}

/** A file that is read at any place. */
export interface OpenedFile extends AsyncDisposable {
  size: number;
  /** As many bytes as there are, `length` at most. */
  read(position: number, length: number): Promise<Uint8Array>;
}

/** What a person does next, with which a message ends: the command names options, and a page its controls. */
export interface Advice {
  kind: string;
  column: string;
  columnTwice: string;
  decimal: string;
  dates: string;
  encoding: string;
  quotes: string;
  unfinished: string;
  most: string;
}

export interface Platform {
  advice: Advice;
  /** Throws a Stop if the file is missing, a directory, or empty. */
  check(path: string): Promise<void>;
  /** The path by which messages name the file. */
  shown(path: string): string;
  /** The path by which the file is opened, and the last part of it. */
  resolve(file: string): string;
  basename(path: string): string;
  open(path: string): Promise<OpenedFile>;
  /** Its bytes, unpacked where its name ends in .gz. A chunk is valid only until the next one is asked for. */
  stream(path: string): AsyncGenerator<Uint8Array, void, undefined>;
  /** Unpacks the raw deflate of a zip file. */
  inflate(chunks: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array>;
  crc32(bytes: Uint8Array, before: number): number;
  isUtf8(bytes: Uint8Array): boolean;
  isAscii(bytes: Uint8Array): boolean;
  /** Text of UTF-8; a character of its own stands for bytes that are none. A BOM stays. */
  utf8(bytes: Uint8Array, from?: number, to?: number): string;
  latin1(bytes: Uint8Array): string;
  encodings: Encodings;
}
