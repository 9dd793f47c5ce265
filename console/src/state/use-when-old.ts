// When a view asks again. The feed says that something has happened; what it does not tell, such as a registration, is looked for
// once a minute. What follows an event, such as an attempt, is looked for once more after it. Where no feed tells anything, a view
// asks every fifteen seconds or so.
import { useEffect, useRef } from 'preact/hooks';
import { isNewsFresh, isToldNews, news } from './feed.ts';

/** Longer than the feed waits between news: while they come, nothing else makes a view ask. */
const lookMs = 15_000;
const spreadMs = 5_000;
const toldMs = 60_000;

/** Acts once the answer is old. No answer is never old. */
export function useWhenOld(answer: unknown, act: () => void): void {
  const latest = useRef(act);
  latest.current = act;
  useEffect(() => {
    if (answer === undefined) return undefined;
    const oldMs = Date.now() + (isNewsFresh() ? 0 : toldMs);
    let timer: number | undefined;
    const wait = (): void => {
      // By chance: pages that heard of the same event do not go on asking at the same moments.
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
