import type { IncomingMessage } from 'node:http';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RequestCuts } from '../../../services/gateway/src/server/request-cuts.ts';

interface Sent {
  head: string;
  body: string;
  headers: Record<string, string>;
}

const empty: Sent = { head: 'GET / HTTP/1.1\r\n\r\n', body: '', headers: {} };
const withBody = (body: string): Sent => ({
  head: `POST /${body.length} HTTP/1.1\r\ncontent-length: ${body.length}\r\n\r\n`,
  body,
  headers: { 'content-length': String(body.length) },
});
const chunked = (chunks: readonly string[], trailers = ''): Sent => ({
  head: 'POST /chunks HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n',
  body: `${chunks.map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`).join('')}0\r\n${trailers}\r\n`,
  headers: { 'transfer-encoding': 'chunked' },
});

/** What Node's parser would do with the pieces: it knows where each head and each body ends. */
function cutUp(sent: readonly Sent[], readBytes: readonly number[]): { piece: string; ends: number }[] {
  const text = sent.map(({ head, body }) => head + body).join('');
  const marks: { at: number; act: () => void }[] = [];
  const cuts = new RequestCuts();
  let start = 0;
  for (const { head, body, headers } of sent) {
    const raw = { headers, complete: false } as unknown as IncomingMessage;
    marks.push({ at: start + head.length, act: () => cuts.begin(raw) });
    start += head.length + body.length;
    marks.push({ at: start, act: () => Object.assign(raw, { complete: true }) });
  }
  const pieces: { piece: string; ends: number }[] = [];
  let parsed = 0;
  for (let from = 0, turn = 0; from < text.length; turn += 1) {
    const read = Buffer.from(text.slice(from, from + (readBytes[turn % readBytes.length] ?? 1)), 'latin1');
    for (let at = 0; at < read.length;) {
      const end = cuts.cut(read, at);
      parsed += end - at;
      let ends = 0;
      while (marks[0] !== undefined && marks[0].at <= parsed) {
        const mark = marks.shift();
        mark?.act();
        if (marks.length % 2 === 0) ends += 1;
      }
      pieces.push({ piece: read.toString('latin1', at, end), ends });
      at = end;
    }
    from += read.length;
  }
  expect(cuts.isUnderWay).toBe(false);
  return pieces;
}

const whole = [1_000_000];

describe('the bytes of a connection are split', () => {
  it('after each request without a body', () => {
    expect(cutUp([empty, empty, empty], whole)).toEqual([
      { piece: empty.head, ends: 1 },
      { piece: empty.head, ends: 1 },
      { piece: empty.head, ends: 1 },
    ]);
  });

  it('after the head and after a body of a known length, whatever its content', () => {
    const one = withBody(empty.head.repeat(5));
    expect(cutUp([one, empty], whole).map(({ piece }) => piece)).toEqual([one.head, one.body, empty.head]);
  });

  it('at each empty line of a chunked body, as any empty line may end the body', () => {
    const one = chunked(['a\r\n\r\nb', 'c'], 'x: y\r\n');
    expect(cutUp([one, empty], whole).map(({ piece }) => piece)).toEqual([
      one.head,
      '6\r\na\r\n\r\n',
      'b\r\n1\r\nc\r\n0\r\nx: y\r\n\r\n',
      empty.head,
    ]);
  });

  it('but not after an empty line before a request', () => {
    const late = { ...empty, head: `\r\n\r\n${empty.head}` };
    expect(cutUp([late, empty], whole).map(({ piece }) => piece)).toEqual([late.head, empty.head]);
  });

  it('so that no piece ends two requests, however the bytes arrive', () => {
    const content = fc.string({
      unit: fc.constantFrom('\r', '\n', '\r\n\r\n', '0', 'x', empty.head),
      maxLength: 9,
    });
    const sent = fc.oneof(
      fc.constant(empty),
      content.map(withBody),
      fc
        .array(
          content.filter((chunk) => chunk !== ''),
          { maxLength: 3 },
        )
        .map((chunks) => chunked(chunks)),
    );
    fc.assert(
      fc.property(
        fc.array(sent, { minLength: 1, maxLength: 8 }),
        fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 8 }),
        (requests, readBytes) => {
          const pieces = cutUp(requests, readBytes);
          expect(pieces.map(({ piece }) => piece).join('')).toBe(
            requests.map(({ head, body }) => head + body).join(''),
          );
          expect(Math.max(...pieces.map(({ ends }) => ends))).toBe(1);
        },
      ),
      { numRuns: 2_000 },
    );
  });
});
