// A look every so often, for as long as there is something to look at: a process that is idle has no timer that wakes it.

export interface Watch extends Disposable {
  /** There is something to look at. */
  begin(): void;
}

/** `look` says whether there is still something to look at. */
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
