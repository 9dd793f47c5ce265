// The time of this process, which never runs backwards, whatever is done to the machine's. While the machine's is
// behind, having been put back, time goes on at half its speed until it is caught up with: it never stands still
// either, for what is due would never be.
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
