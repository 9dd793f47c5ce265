import { useEffect, useRef } from 'preact/hooks';

const answeredMs = 1_000;

/** Acts immediately, and again a second later, when a receiver has probably answered the delivery that a click has sent. */
export function useNowAndSoon(act: () => void): () => void {
  const latest = useRef(act);
  latest.current = act;
  const timer = useRef<number | undefined>(undefined);
  useEffect(() => () => window.clearTimeout(timer.current), []);
  return () => {
    act();
    window.clearTimeout(timer.current);
    timer.current = window.setTimeout(() => latest.current(), answeredMs);
  };
}
