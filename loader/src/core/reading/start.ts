// Reads the first bytes of a stream, so that they can be checked before the rest is read.

import { copied, joined } from '../bytes.ts';

export interface Begun {
  start: Uint8Array;
  /** All bytes of the stream, including the start. `all` can be called only once. */
  all(): AsyncGenerator<Uint8Array, void, undefined>;
}

/** Reads the first `bytes` of a stream. With `close`, the rest of the stream is not read. */
export async function firstBytes(
  chunks: AsyncIterable<Uint8Array>,
  bytes: number,
  close = false,
): Promise<Begun> {
  const iterator = chunks[Symbol.asyncIterator]();
  const taken: Uint8Array[] = [];
  let length = 0;
  while (length < bytes) {
    const next = await iterator.next();
    if (next.done === true) break;
    taken.push(copied(next.value));
    length += next.value.length;
  }
  if (close) await iterator.return?.();
  return {
    start: joined(taken),
    async *all() {
      try {
        yield* taken;
        for (;;) {
          const next = await iterator.next();
          if (next.done === true) return;
          yield next.value;
        }
      } finally {
        await iterator.return?.();
      }
    },
  };
}

export async function* withoutStart(
  chunks: AsyncIterable<Uint8Array>,
  bytes: number,
): AsyncGenerator<Uint8Array, void, undefined> {
  let left = bytes;
  for await (const chunk of chunks) {
    if (chunk.length > left) yield chunk.subarray(left);
    left = Math.max(left - chunk.length, 0);
  }
}
