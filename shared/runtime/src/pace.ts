// Long work gives way to short work. A process has one thread for everything, and what is answered in a millisecond
// must not wait until five hundred records of a push are checked, turned into bytes and announced. So long work is done
// in pieces, of which each turn of the event loop does one, whatever it belongs to; what has come from the network is
// dealt with in between. Short work gives way to nothing.

/** What is done with so many items takes no more than a millisecond or two. */
export const chunkItems = 125;
/** While short work comes. Smaller pieces take longer in all, as each waits for a turn: a twentieth, of a push. */
const chunkItemsBesideShortWork = 40;
/** From the last short work on. */
const smallForMs = 100;

const waiting: (() => void)[] = [];
let shortWorkAtMs = -Infinity;

/** Short work waits for a piece at each of its steps, its first one included: it makes those of the near future smaller. */
export function noteShortWork(): void {
  shortWorkAtMs = performance.now();
}

/** How many items the next piece may have. */
export const nextChunkItems = (): number =>
  performance.now() - shortWorkAtMs < smallForMs ? chunkItemsBesideShortWork : chunkItems;

/** Before something is done with so many items at once: resolves when it is its turn. */
export function giveWay(items: number): Promise<void> | undefined {
  return items > chunkItems ? nextTurn() : undefined;
}

/** For each of them in the order in which they stand, a piece at a time. */
export async function inChunks<One>(
  all: readonly One[],
  work: (one: One, index: number) => void,
): Promise<void> {
  let chunkEnd = nextChunkItems();
  for (const [index, one] of all.entries()) {
    if (index === chunkEnd) {
      await nextTurn();
      chunkEnd += nextChunkItems();
    }
    work(one, index);
  }
}

/** Resolves when the next piece may be done. */
export function nextTurn(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  waiting.push(resolve);
  if (waiting.length === 1) setImmediate(doNext);
  return promise;
}

function doNext(): void {
  waiting.shift()?.();
  if (waiting.length > 0) setImmediate(doNext);
}
