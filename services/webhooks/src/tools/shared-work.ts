// Work whose outcome several ask for at once: one time it is done for all that have asked before it began. None gets an
// outcome of work that had begun before it asked.

export function shareWork<T>(work: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined;
  let next: Promise<T> | undefined;

  const begin = (): Promise<T> => {
    next = undefined;
    const mine = work().finally(() => {
      if (running === mine) running = undefined;
    });
    running = mine;
    return mine;
  };

  return () => {
    if (running === undefined) return begin();
    return (next ??= running.then(begin, begin));
  };
}
