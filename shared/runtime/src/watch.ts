// Calls a function periodically while it has something to watch, so that no timer wakes an idle process.

export interface Watch extends Disposable {
  /** Starts the timer, unless it runs already. */
  begin(): void;
}

/** `look` returns whether there is still something to watch; false stops the timer. */
export function openWatch(everyMs: number, look: () => boolean): Watch {
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;
  const end = (): void => {
    clearInterval(timer);
    timer = undefined;
  };
  return {
    begin() {
      if (isClosed) return;
      timer ??= setInterval(() => {
        if (!look()) end();
      }, everyMs);
    },
    [Symbol.dispose]() {
      isClosed = true;
      end();
    },
  };
}
