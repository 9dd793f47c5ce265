// The pieces of a body as they come in, and what holding them costs. Most bodies come in a few large pieces, which are
// kept as they are. A body cut into single bytes would be one object of some hundred bytes for each of them, so that
// small pieces, once there are many, are copied together into pages.

/** So many pieces are kept as they come, however small. */
const keptAsTheyComeCount = 64;
/** A piece of this size is worth an object of its own. */
const largeBytes = 1_024;
const pageBytes = 64 * 1_024;
/** What a buffer takes beside its bytes. */
const objectBytes = 512;

export interface Pieces {
  readonly bytes: number;
  /** What they take in memory, which is more than their bytes. */
  readonly heldBytes: number;
  readonly count: number;
  /** Answers how much more is held now. */
  add(piece: Buffer): number;
  join(): Buffer;
}

export function openPieces(): Pieces {
  const kept: Buffer[] = [];
  let page = Buffer.alloc(0);
  /** Of the page, what has been written and is not yet among those kept. */
  let from = 0;
  let to = 0;
  let bytes = 0;
  let heldBytes = 0;

  const keep = (piece: Buffer): void => {
    kept.push(piece);
    heldBytes += objectBytes;
  };
  const closePage = (): void => {
    if (to > from) keep(page.subarray(from, to));
    from = to;
  };
  const copy = (piece: Buffer): void => {
    if (to + piece.length > page.length) {
      closePage();
      page = Buffer.allocUnsafeSlow(pageBytes);
      heldBytes += pageBytes;
      from = 0;
      to = 0;
    }
    to += piece.copy(page, to);
  };

  return {
    get bytes() {
      return bytes;
    },
    get heldBytes() {
      return heldBytes;
    },
    get count() {
      return kept.length;
    },
    add(piece) {
      const before = heldBytes;
      bytes += piece.length;
      if (piece.length < largeBytes && kept.length >= keptAsTheyComeCount) {
        copy(piece);
      } else {
        closePage();
        keep(piece);
        heldBytes += piece.length;
      }
      return heldBytes - before;
    },
    join: () => Buffer.concat(to > from ? [...kept, page.subarray(from, to)] : kept, bytes),
  };
}
