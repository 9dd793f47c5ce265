// Work that goes on after its caller has gone on: it is waited for when the process stops.

export interface Background extends AsyncDisposable {
  readonly follow: (work: Promise<unknown>) => void;
  /** Resolves when the process stops: from then on, no work waits for anything but its end. */
  readonly closing: Promise<void>;
  readonly isClosing: boolean;
}

export function openBackground(): Background {
  const underWay = new Set<Promise<unknown>>();
  const closing = Promise.withResolvers<void>();
  let isClosing = false;
  return {
    follow(work) {
      const followed = work.finally(() => underWay.delete(followed));
      underWay.add(followed);
    },
    closing: closing.promise,
    get isClosing() {
      return isClosing;
    },
    async [Symbol.asyncDispose]() {
      isClosing = true;
      closing.resolve();
      while (underWay.size > 0) await Promise.all(underWay);
    },
  };
}
