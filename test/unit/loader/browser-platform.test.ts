import { crc32 } from 'node:zlib';
import { expect, it } from 'vitest';
import { checkEncoding } from '../../../loader/src/core/reading/encodings.ts';
import { platform } from '../../../loader/src/platform/browser.ts';

const bytes = Uint8Array.from({ length: 64 }, (_, at) => (at * 151 + 13) & 0xff);

it('the CRC-32 in a browser equals the CRC-32 of Node.js, for bytes of any length and alignment', () => {
  for (let from = 0; from < 5; from += 1)
    for (let to = from; to <= bytes.length; to += 1) {
      const part = bytes.subarray(from, to);
      expect(platform.crc32(part, 0)).toBe(crc32(part));
      expect(platform.crc32(part, crc32('before'))).toBe(crc32(part, crc32('before')));
    }
});

it('in a browser, the loader decodes Latin-1 byte by byte, and windows-1252 as the Encoding Standard says', () => {
  const all = Uint8Array.from({ length: 256 }, (_, byte) => byte);
  expect(platform.latin1(all)).toBe(Buffer.from(all).toString('latin1'));
  expect(platform.encodings.decode(all.subarray(0xa0), 'windows-1252')).toBe(
    platform.latin1(all.subarray(0xa0)),
  );
  expect(platform.encodings.decode(Uint8Array.of(0x80, 0x41), 'windows-1252')).toBe('€A');
  expect(platform.encodings.decode(Uint8Array.of(0x80, 0x41), 'iso-8859-1')).toBe('\u0080A');
});

it.each(['ms_kanji', 'gb_2312', 'ks_c_5601-1987', 'iso_8859-1:1987', 'UTF_8'])(
  'a browser decodes the encoding %s under the name that the loader gives it',
  (name) => {
    expect(platform.encodings.decode(Uint8Array.of(0x41), checkEncoding(name))).toBe('A');
  },
);
