// A clock that never runs backwards, even if the machine's clock is set back. After a set-back it runs at half speed
// until the machine's clock has caught up. It never stops, so that entries of the journal still become due.
export type Clock = () => number;

export function steadyClock(now: Clock = Date.now, elapsedMs: Clock = () => performance.now()): Clock {
  let latest = -Infinity;
  let setBack: { at: number; elapsedMs: number } | undefined;
  return () => {
    const time = now();
    if (time >= latest) {
      setBack = undefined;
      latest = time;
      return time;
    }
    setBack ??= { at: latest, elapsedMs: elapsedMs() };
    latest = Math.max(latest, setBack.at + Math.floor((elapsedMs() - setBack.elapsedMs) / 2));
    return latest;
  };
}
