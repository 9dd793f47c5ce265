// The encodings of browsers. Browsers only decode: for encoding, their tables are inverted. No browser has DOS code pages.
import type { Encodings } from '../core/platform.ts';
import { utf8Bytes } from '../core/bytes.ts';

/** Names of Latin-1, which a browser decodes as windows-1252. That encoding has other characters from 0x80 to 0x9f. */
const latin1 = /^(?:iso-?8859-?1|latin-?1|binary)$/i;
/** Names of encodings that files and maps use, but browsers do not know. */
const otherNames: Readonly<Record<string, string>> = {
  utf8: 'utf-8',
  win1252: 'windows-1252',
  win1250: 'windows-1250',
  win1251: 'windows-1251',
  latin9: 'iso-8859-15',
  utf16: 'utf-16le',
  utf16le: 'utf-16le',
  utf16be: 'utf-16be',
  ucs2: 'utf-16le',
};

const labelOf = (name: string): string => otherNames[name.toLowerCase()] ?? name;

function decoderOf(name: string): TextDecoder | undefined {
  try {
    return new TextDecoder(labelOf(name), { ignoreBOM: true });
  } catch {
    return undefined;
  }
}

function known(name: string): TextDecoder {
  const decoder = decoderOf(name);
  if (decoder === undefined) throw new Error(`this browser has no encoding ${name}`);
  return decoder;
}

const pieceCharacters = 8_192;
const windows1252 = new TextDecoder('windows-1252');

/** The decoder of Windows-1252 is twenty times as fast as the loop below, and differs from Latin-1 in 32 characters only. */
function fromLatin1(bytes: Uint8Array): string {
  const decoded = windows1252.decode(new Uint8Array(bytes));
  if (!/[\u0100-\uffff]/.test(decoded)) return decoded;
  let text = '';
  for (let at = 0; at < bytes.length; at += pieceCharacters)
    text += String.fromCharCode(...bytes.subarray(at, at + pieceCharacters));
  return text;
}

/** The bytes of each character that has one byte or two, by encoding. */
const tables = new Map<string, ReadonlyMap<string, readonly number[]>>();

function tableOf(name: string): ReadonlyMap<string, readonly number[]> {
  const found = tables.get(name);
  if (found !== undefined) return found;
  const decoder = known(name);
  const table = new Map<string, readonly number[]>();
  const add = (...bytes: number[]): void => {
    const text = decoder.decode(new Uint8Array(bytes));
    if (Array.from(text).length === 1 && text !== '\ufffd' && !table.has(text)) table.set(text, bytes);
  };
  for (let byte = 0; byte < 256; byte += 1) add(byte);
  // An encoding with fewer than 200 characters of one byte also has characters of two bytes.
  if (table.size < 200)
    for (let lead = 0x81; lead < 0xff; lead += 1)
      for (let byte = 0x40; byte < 0xff; byte += 1) add(lead, byte);
  tables.set(name, table);
  return table;
}

function encode(text: string, name: string): Uint8Array {
  const label = latin1.test(name) ? 'iso-8859-1' : known(name).encoding;
  if (label === 'utf-8') return utf8Bytes(text);
  if (label === 'utf-16le' || label === 'utf-16be') return utf16(text, label === 'utf-16le');
  if (label === 'iso-8859-1')
    return Uint8Array.from(text, (character) => {
      const code = character.codePointAt(0) ?? 0;
      return code < 0x100 ? code : question;
    });
  const table = tableOf(label);
  return Uint8Array.from(Array.from(text).flatMap((character) => table.get(character) ?? [question]));
}

const question = 0x3f;

function utf16(text: string, isLittle: boolean): Uint8Array {
  const bytes = new Uint8Array(2 * text.length);
  const view = new DataView(bytes.buffer);
  for (let at = 0; at < text.length; at += 1) view.setUint16(2 * at, text.charCodeAt(at), isLittle);
  return bytes;
}

export const encodings: Encodings = {
  has: (name) => latin1.test(name) || decoderOf(name) !== undefined,
  decode: (bytes, name) =>
    latin1.test(name) ? fromLatin1(bytes) : known(name).decode(new Uint8Array(bytes)),
  encode,
  decoder(name) {
    if (latin1.test(name)) return { write: fromLatin1, end: () => '' };
    const decoder = known(name);
    return {
      write: (chunk) => decoder.decode(new Uint8Array(chunk), { stream: true }),
      end: () => decoder.decode(),
    };
  },
};
