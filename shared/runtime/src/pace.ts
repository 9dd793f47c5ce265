// Yields to the event loop in long work: a request that takes a millisecond must not wait until the five hundred records of a
// push are checked, encoded and announced. So long work runs in chunks, and each turn of the event loop runs one chunk of
// whichever push. The process handles network input between chunks. Short work never yields.

/** The chunk size: work on one chunk takes a millisecond or two at most. */
export const chunkItems = 125;
/** The chunk size while short requests come. A push then takes 5% longer: each chunk waits for a turn of the event loop. */
const chunkItemsBesideShortWork = 40;
/** How long chunks stay small after the last short request. */
const smallForMs = 100;

const waiting: (() => void)[] = [];
let shortWorkAtMs = -Infinity;

/** Notes a short request, which makes the next chunks smaller: the request may wait for a chunk at each of its steps. */
export function noteShortWork(): void {
  shortWorkAtMs = performance.now();
}

/** How many items the next chunk may have. */
export const nextChunkItems = (): number =>
  performance.now() - shortWorkAtMs < smallForMs ? chunkItemsBesideShortWork : chunkItems;

/** Yields before work on more than `chunkItems` items; resolves when the work has its turn. */
export function giveWay(items: number): Promise<void> | undefined {
  return items > chunkItems ? nextTurn() : undefined;
}

/** A body of this size or more is parsed in a separate turn of the event loop: the largest takes tens of milliseconds. */
const largeBodyBytes = 128 * 1024;
let bodiesWaiting = 0;

/** Yields before a large body is parsed. A small body only waits for earlier bodies: bodies are parsed in order of arrival. */
export function turnToRead(bytes: number): Promise<void> | undefined {
  if (bytes < largeBodyBytes && bodiesWaiting === 0) return undefined;
  bodiesWaiting += 1;
  return nextTurn().then(() => {
    bodiesWaiting -= 1;
  });
}

/** Calls `work` for each item in order, and lets other work run after each chunk of items. */
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

/** Resolves when the next chunk may run. */
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
