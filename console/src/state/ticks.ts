import { useEffect, useState } from 'preact/hooks';
import { useStore } from '../store.ts';
import { visible } from './visibility.ts';

const second = (): number => Math.floor(Date.now() / 1_000);

/** The current epoch second. Draws the component each second while the tab is visible. */
export function useEverySecond(): number {
  const [now, setNow] = useState(second());
  const isVisible = useStore(visible);
  useEffect(() => {
    if (!isVisible) return undefined;
    const timer = window.setInterval(() => setNow(second()), 1_000);
    return () => window.clearInterval(timer);
  }, [isVisible]);
  return now;
}
