// Cuts many items into requests that the service takes: 500 items at most, and not too many bytes.

export interface Piece {
  /** Each item as JSON. */
  texts: readonly string[];
  /** The index of the first of these items among all items of the call. */
  from: number;
}

export interface Bounds {
  items: number;
  bytes: number;
}

/** The service takes bodies of 5 MiB, unless an operator has set less. */
export const boundsAtFirst: Readonly<Bounds> = { items: 500, bytes: 4.5 * 1024 * 1024 };

export function* cut(texts: readonly string[], bounds: Readonly<Bounds>): Generator<Piece> {
  let from = 0;
  while (from < texts.length) {
    let bytes = 0;
    let to = from;
    while (to < texts.length && to - from < bounds.items) {
      // Each item has a comma. A single item is sent whatever its size.
      bytes += bytesOf(texts[to] ?? '') + 1;
      if (bytes > bounds.bytes && to > from) break;
      to += 1;
    }
    yield { texts: texts.slice(from, to), from };
    from = to;
  }
}

export function halve({ texts, from }: Piece): Piece[] {
  const middle = Math.ceil(texts.length / 2);
  return [
    { texts: texts.slice(0, middle), from },
    { texts: texts.slice(middle), from: from + middle },
  ];
}

/** For a text of up to so many characters the bytes are estimated, as three a character, and not counted. */
const shortCharacters = 2_000;
const encoder = new TextEncoder();

const bytesOf = (text: string): number =>
  text.length <= shortCharacters ? bytesAtMost(text) : encoder.encode(text).length;

/** The most bytes that the text can have in UTF-8, without looking at its characters. */
export const bytesAtMost = (text: string): number => 3 * text.length;
