// Splits many items into requests that the service accepts: 500 items at most, and not too many bytes.

export interface Piece {
  /** Each item as JSON. */
  texts: readonly string[];
  /** The index of this request's first item among all items of the call. */
  from: number;
}

export interface Bounds {
  items: number;
  bytes: number;
}

/** The bounds of a request at first. The service accepts bodies of up to 5 MiB, unless an operator has set a lower limit. */
export const boundsAtFirst: Readonly<Bounds> = { items: 500, bytes: 4.5 * 1024 * 1024 };

export function* cut(texts: readonly string[], bounds: Readonly<Bounds>): Generator<Piece> {
  let from = 0;
  while (from < texts.length) {
    let bytes = 0;
    let to = from;
    while (to < texts.length && to - from < bounds.items) {
      // A request always has at least one item, whatever the size of the item.
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

/** The bytes of a text with up to this number of characters are not counted, but estimated as three for each character. */
const shortCharacters = 2_000;
const encoder = new TextEncoder();

const bytesOf = (text: string): number =>
  text.length <= shortCharacters ? bytesAtMost(text) : encoder.encode(text).length;

/** The bytes of a request with these items. A comma counts for each item. */
export const bytesOfAll = (texts: readonly string[]): number =>
  texts.reduce((sum, text) => sum + bytesOf(text) + 1, 0);

/** How many bytes a text of this length has at most in UTF-8. */
export const bytesAtMost = (text: string): number => 3 * text.length;
