// What is kept of an answer that is no success.
import { describe, expect, it } from 'vitest';
import {
  retryAfterMsOf,
  textOfBody,
  withChunk,
} from '../../../services/webhooks/src/sending/attempt-outcome.ts';

const now = Date.parse('2026-03-31T09:00:00Z');

const hexOf = (text: string, before: string, after = '') =>
  Array.from(
    text,
    (one) =>
      before +
      one
        .charCodeAt(0)
        .toString(16)
        .padStart(before === '\\u' ? 4 : 2, '0') +
      after,
  ).join('');
const json = JSON.stringify;

describe('Retry-After', () => {
  it.each([
    [429, '60', 60_000],
    [503, ' 2 ', 2_000],
    [503, 'Tue, 31 Mar 2026 09:01:30 GMT', 90_000],
    [429, '315360000', 300_000],
    [429, 'Tue, 31 Mar 2036 09:00:00 GMT', 300_000],
    [429, '9'.repeat(20), 300_000],
    [503, '9'.repeat(400), 300_000],
    [429, 'Mon, 30 Mar 2026 09:00:00 GMT', 0],
    [429, '-5', 0],
    [429, '1e3', 0],
    [429, '31 Mar 2036', 0],
    [429, 'Tue, 99 Foo 2036 09:00:00 GMT', 0],
    [429, 'soon', 0],
    [429, '', 0],
    [429, undefined, 0],
    [429, ['60', '70'], 0],
    [500, '60', 0],
    [200, '60', 0],
  ])('of a %i with %j is %i ms', (status, header, wait) => {
    expect(retryAfterMsOf(status, header, now)).toBe(wait);
  });
});

describe('the body of a failed answer', () => {
  it('is its first 1 KiB, without half a character', () => {
    const bytes = Buffer.from(`${'a'.repeat(1_023)}€${'b'.repeat(5_000)}`);
    expect(textOfBody(bytes)).toBe('a'.repeat(1_023));
    expect(textOfBody(Buffer.from('nicht verfügbar'))).toBe('nicht verfügbar');
  });

  it('is stored as valid text, even if the receiver answers with binary data', () => {
    expect(textOfBody(Buffer.from([0xff, 0x00, 0xfe, 0x41]))).toBe('\ufffd\u0000\ufffdA');
  });

  it('has no header value of the webhook that the receiver repeats, nor the beginning of a value at its end', () => {
    const headers = ['Authorization', 'Bearer sesame-4711', 'X-Short', 'on'];
    expect(textOfBody(Buffer.from('no "Bearer sesame-4711" here: sesame-4711, go on'), headers)).toBe(
      'no "******************" here: ***********, go on',
    );
    const atEnd = textOfBody(Buffer.from(`${'a'.repeat(1_020)}sesame-4711`), headers);
    expect(atEnd).toBe(`${'a'.repeat(1_020)}****`);
  });

  it('shows no part of a header value that contains another header value', () => {
    const headers = ['X-Client', 'sesame', 'X-Token', 'sesame-4711'];
    expect(textOfBody(Buffer.from('sesame-4711 of sesame'), headers)).toBe('*********** of ******');
  });

  it('shows no part of a header value that overlaps another header value', () => {
    const headers = ['X-Client', 'sesame-47', 'X-Token', '47-and-more'];
    expect(textOfBody(Buffer.from('sesame-47-and-more'), headers)).toBe('*'.repeat(18));
  });

  it.each<[form: string, escape: (value: string) => string]>([
    ['JSON', json],
    ['JSON within JSON', (value) => json(json([value]))],
    ['JSON with slashes escaped', (value) => json(value).replaceAll('/', '\\/')],
    ['JSON in hexadecimal', (value) => hexOf(value, '\\u')],
    ['JSON in hexadecimal within JSON', (value) => json(hexOf(value, '\\u'))],
    ['a URL', encodeURIComponent],
    ['a form', (value) => new URLSearchParams([['', value]]).toString()],
    ['HTML', (value) => value.replace(/[&<>"']/g, (one) => `&#${one.charCodeAt(0)};`)],
    [
      'HTML by names',
      (value) => value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;'),
    ],
    ['HTML in hexadecimal', (value) => hexOf(value, '&#x', ';')],
  ])('shows no header value that the receiver repeats escaped for %s', (_form, escape) => {
    const odd = 'se"sa\\me/47 <11>&\'\t+x';
    const text = textOfBody(Buffer.from(`no ${escape(odd)}: ${escape(odd)}`), ['X-Odd', odd]);
    expect(text).toMatch(/^no \W*\*{20,}\W*: \W*\*{20,}\W*$/);
    // A value may begin at the last byte that is shown.
    const long = odd + 'y'.repeat(1_000 - odd.length);
    const cut = textOfBody(Buffer.from('-'.repeat(1_000) + escape(long)), ['X-Odd', long]);
    expect(cut).toMatch(/^-{1000}\W*\*{10,}$/);
  });

  it('is masked without an endless loop where a header value contains the mask', () => {
    const headers = ['X-Masked', 'Bearer ********', 'X-Token', 'sesame-4711'];
    expect(textOfBody(Buffer.from('no "Bearer ********" nor sesame-4711'), headers)).toBe(
      'no "***************" nor ***********',
    );
  });

  it('is masked within a second of processor time, although each header value is in it at every byte', () => {
    const words = [6, 40, 999].map((bytes) => Array(Math.floor(1_000 / (bytes + 1))).fill('a'.repeat(bytes)));
    const headers = words.flatMap((some) => Array(20).fill(some.join(' ')));
    const before = process.cpuUsage();
    expect(textOfBody(Buffer.alloc(8_024, 'a'), headers)).toBe('*'.repeat(1_024));
    expect(process.cpuUsage(before).user / 1_000).toBeLessThan(1_000);
  });

  it('uses bounded memory for an endless answer', () => {
    let start: Buffer = Buffer.alloc(0);
    for (let chunks = 0; chunks < 1_000; chunks += 1) start = withChunk(start, Buffer.alloc(16_384, 'x'));
    expect(start.length).toBe(8_024);
  });
});
