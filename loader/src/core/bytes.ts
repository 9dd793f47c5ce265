// Bytes as every machine has them.

/** One piece of memory with the bytes of all of them. */
export function joined(parts: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** A copy that keeps its bytes when the memory of the original is used again. */
export const copied = (bytes: Uint8Array): Uint8Array => new Uint8Array(bytes);

const encoder = new TextEncoder();

export const utf8Bytes = (text: string): Uint8Array => encoder.encode(text);
