// Functions for byte arrays that work both in Node.js and in browsers.

/** Joins byte arrays into one array. */
export function joined(parts: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** Copies bytes, so that the copy stays unchanged when the memory of the original is reused. */
export const copied = (bytes: Uint8Array): Uint8Array => new Uint8Array(bytes);

const encoder = new TextEncoder();

export const utf8Bytes = (text: string): Uint8Array => encoder.encode(text);
