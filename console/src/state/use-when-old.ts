// Decides when a view loads its answer again: when the feed has brought events; once more after the last of them, for
// what events cause, such as attempts; and after 60 to 80 s without events, for changes that are no events, such as a
// registration. If the feed does not work, a view loads again every 15 to 20 s.
import { useEffect, useRef } from 'preact/hooks';
import { isNewsFresh, isToldNews, news } from './feed.ts';

/** At least the 10 to 15 s between two `news`: while events come, `news` makes a view load again before its answer is old. */
const lookMs = 15_000;
const spreadMs = 5_000;
const toldMs = 60_000;

/** Calls `act` once the answer is old, and never if there is no answer. */
export function useWhenOld(answer: unknown, act: () => void): void {
  const latest = useRef(act);
  latest.current = act;
  useEffect(() => {
    if (answer === undefined) return undefined;
    const oldMs = Date.now() + (isNewsFresh() ? 0 : toldMs);
    let timer: number | undefined;
    const wait = (): void => {
      // The random part keeps pages that heard of the same event from asking at the same moments.
      timer = window.setTimeout(look, lookMs + spreadMs * Math.random());
    };
    const look = (): void => {
      if (isToldNews() && Date.now() < oldMs) wait();
      else latest.current();
    };
    wait();
    const forget = news.subscribe(() => latest.current());
    return () => {
      window.clearTimeout(timer);
      forget();
    };
  }, [answer]);
}
