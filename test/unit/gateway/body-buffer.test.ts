import { BodyBuffer } from '@integration-sync/gateway/body/body-buffer';
import { expect, it } from 'vitest';

function collect(texts: Iterable<string>): BodyBuffer {
  const buffer = new BodyBuffer();
  for (const text of texts) buffer.add(Buffer.from(text));
  return buffer;
}

it.each([0, 1, 63, 64, 65, 70_000, 200_000])(
  'the buffer of a body joins %i chunks of one byte to the body that they came from',
  (count) => {
    const text = Array.from({ length: count }, (_, at) => String.fromCodePoint(97 + (at % 26))).join('');
    const buffer = collect(text);
    expect(buffer.join().toString()).toBe(text);
    expect(buffer.bytes).toBe(count);
  },
);

it('the buffer of a body keeps small and large chunks in order', () => {
  const texts = Array.from({ length: 5_000 }, (_, at) => String(at).repeat(at % 100 === 0 ? 1_000 : 1));
  expect(collect(texts).join().toString()).toBe(texts.join(''));
});

// What this proves: a body in five million chunks is not five million objects.
it('the buffer of a body needs little more memory for many small chunks than their bytes', () => {
  const buffer = collect('x'.repeat(300_000));
  expect(buffer.chunkCount).toBeLessThan(100);
  expect(buffer.heldBytes).toBeLessThan(500_000);
});

it('the buffer of a body counts all memory that its chunks take, objects and unfilled pages too', () => {
  const buffer = new BodyBuffer();
  for (let count = 0; count < 1_000; count += 1) buffer.add(Buffer.alloc(1));
  expect(buffer.heldBytes).toBeGreaterThan(64 * 1_024);
  const alternating = new BodyBuffer();
  for (let count = 0; count < 1_000; count += 1) alternating.add(Buffer.alloc(count % 2 === 0 ? 1 : 1_024));
  expect(alternating.heldBytes).toBeGreaterThan(alternating.bytes + alternating.chunkCount * 400);
});

it('the buffer of a body does not copy a few large chunks', () => {
  const chunk = Buffer.alloc(65_536, 1);
  const buffer = new BodyBuffer();
  buffer.add(chunk);
  chunk[0] = 2;
  expect(buffer.join()[0]).toBe(2);
});

it.each([0, 1, 63, 500, 70_000])(
  'the buffer of a body copies later chunks into one buffer after %i chunks of one byte',
  (count) => {
    const text = 'x'.repeat(count) + Array.from({ length: 300 }, (_, at) => `${at},`.repeat(50)).join('');
    const buffer = collect(text.slice(0, count));
    buffer.expect(text.length);
    expect(buffer.heldBytes).toBe(text.length);
    for (let at = count; at < text.length; at += 1_500) buffer.add(Buffer.from(text.slice(at, at + 1_500)));
    expect(buffer.join().toString()).toBe(text);
    expect({ bytes: buffer.bytes, heldBytes: buffer.heldBytes }).toEqual({
      bytes: text.length,
      heldBytes: text.length,
    });
  },
);
