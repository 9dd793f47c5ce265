// What is kept of an answer that is no success.
import { describe, expect, it } from 'vitest';
import { openBodyStart, retryAfterMsOf, textOfBody } from '../../../services/webhooks/src/sending/outcome.ts';

const now = Date.parse('2026-03-31T09:00:00Z');

describe('Retry-After', () => {
  it.each([
    [429, '60', 60_000],
    [503, ' 2 ', 2_000],
    [503, 'Tue, 31 Mar 2026 09:01:30 GMT', 90_000],
    [429, '315360000', 300_000],
    [429, 'Tue, 31 Mar 2036 09:00:00 GMT', 300_000],
    [429, '9'.repeat(400), 0],
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

  it('is text even where the answer is binary', () => {
    expect(textOfBody(Buffer.from([0xff, 0x00, 0xfe, 0x41]))).toBe('\ufffd\u0000\ufffdA');
  });

  it('shows no header value that the receiver repeats, not even in part at its end', () => {
    const headers = ['Authorization', 'Bearer sesame-4711', 'X-Short', 'on'];
    expect(textOfBody(Buffer.from('no "Bearer sesame-4711" here: sesame-4711, go on'), headers)).toBe(
      'no "******************" here: ***********, go on',
    );
    const atEnd = textOfBody(Buffer.from(`${'a'.repeat(1_020)}sesame-4711`), headers);
    expect(atEnd).toBe(`${'a'.repeat(1_020)}****`);
  });

  it('shows no rest of a header value of which another value is a part', () => {
    const headers = ['X-Client', 'sesame', 'X-Token', 'sesame-4711'];
    expect(textOfBody(Buffer.from('sesame-4711 of sesame'), headers)).toBe('*********** of ******');
  });

  it('shows no rest of a header value that overlaps another value', () => {
    const headers = ['X-Client', 'sesame-47', 'X-Token', '47-and-more'];
    expect(textOfBody(Buffer.from('sesame-47-and-more'), headers)).toBe('*'.repeat(18));
  });

  it('ends where a header value is like its own mask', () => {
    const headers = ['X-Masked', 'Bearer ********', 'X-Token', 'sesame-4711'];
    expect(textOfBody(Buffer.from('no "Bearer ********" nor sesame-4711'), headers)).toBe(
      'no "***************" nor ***********',
    );
  });

  it('takes no memory of an endless answer', () => {
    const start = openBodyStart();
    for (let chunks = 0; chunks < 1_000; chunks += 1) start.add(Buffer.alloc(16_384, 'x'));
    expect(start.bytes().length).toBe(2_024);
  });
});
