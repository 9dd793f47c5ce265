// Calls a function periodically while it has something to watch, so that no timer wakes an idle process.

/** `look` returns whether there is still something to watch; false stops the timer. */
export function openWatch(everyMs: number, look: () => boolean) {
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;
  const end = (): void => {
    clearInterval(timer);
    timer = undefined;
  };
  return {
    /** Starts the timer, unless it runs already. */
    begin(): void {
      if (isClosed) return;
      timer ??= setInterval(() => {
        if (!look()) end();
      }, everyMs);
    },
    [Symbol.dispose](): void {
      isClosed = true;
      end();
    },
  };
}
