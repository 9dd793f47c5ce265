import { expect, it } from 'vitest';
import iconv from 'iconv-lite';
import {
  ByteWatch,
  decodeBlock,
  encode,
  encodingByBom,
  toUtf8,
} from '../../../loader/src/core/reading/encodings.ts';

const watched = (bytes: Buffer, chunkBytes = 3): ByteWatch => {
  const watch = new ByteWatch();
  for (let at = 0; at < bytes.length; at += chunkBytes) watch.look(bytes.subarray(at, at + chunkBytes), 7);
  watch.end();
  return watch;
};

it('the encoding is detected by a BOM', () => {
  expect(encodingByBom(Buffer.from('\ufeffa'))).toEqual({ encoding: 'utf-8', bomBytes: 3 });
  expect(encodingByBom(Buffer.from([0xff, 0xfe, 0x41, 0]))).toEqual({ encoding: 'utf-16le', bomBytes: 2 });
  expect(encodingByBom(Buffer.from([0xfe, 0xff, 0, 0x41]))).toEqual({ encoding: 'utf-16be', bomBytes: 2 });
  expect(encodingByBom(Buffer.from('a'))).toBeUndefined();
});

it.each([1, 2, 3, 5, 100])('valid UTF-8 is detected in chunks of %i bytes', (chunkBytes) => {
  const { strays, characters } = watched(Buffer.from('Grüße 🌲 aus €-Land, ¼ Zoll'), chunkBytes);
  expect({ strays, characters }).toEqual({ strays: 0, characters: 5 });
});

it.each([1, 2, 3, 5, 100])('a byte that is no UTF-8 is found in chunks of %i bytes', (chunkBytes) => {
  const bytes = Buffer.concat([Buffer.from('Grüße '), Buffer.from([0xfc]), Buffer.from('ber € 🌲')]);
  expect(watched(bytes, chunkBytes)).toMatchObject({
    strays: 1,
    characters: 4,
    firstStray: { byte: 0xfc, line: 8 },
  });
});

it('a character that the end of a file cuts off is found', () => {
  expect(watched(Buffer.from('Größe €').subarray(0, -1)).strays).toBeGreaterThan(0);
});

it('bytes that are no character in windows-1252 are reported, as they occur in DOS files', () => {
  expect(watched(iconv.encode('Müller', 'cp850'))).toMatchObject({
    firstUndefined: { byte: 0x81, line: 8 },
  });
  expect(watched(iconv.encode('Müller €', 'windows-1252')).firstUndefined).toBeUndefined();
});

const text = 'Grüße;Öl;Köln\r\nnur ASCII\r\nÄ';

it.each(['windows-1252', 'cp850', 'cp437', 'iso-8859-15', 'utf-8'])('bytes in %s are decoded', (name) => {
  expect(decodeBlock(encode(text, name), name)).toBe(text);
  expect(decodeBlock(Buffer.from('ASCII'), name)).toBe('ASCII');
});

it.each(['utf-16le', 'utf-16be'])('%s is decoded in any chunks', async (name) => {
  const own = `${text} 🌲🌲`;
  const bytes = encode(own, name);
  async function* chunks(): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < bytes.length; at += 3) yield bytes.subarray(at, at + 3);
  }
  expect(Buffer.concat(await Array.fromAsync(toUtf8(chunks(), name))).toString()).toBe(own);
});

it('the euro sign of windows-1252 is decoded where TextDecoder reads windows-1252 as Latin-1', () => {
  expect(decodeBlock(Buffer.from([0x80, 0xfc]), 'windows-1252')).toBe('€ü');
});
