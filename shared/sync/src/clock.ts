// The time of this process, which never runs backwards, whatever is done to the machine's.
export type Clock = () => number;

export function steadyClock(now: Clock = Date.now): Clock {
  let latest = 0;
  return () => {
    latest = Math.max(latest, now());
    return latest;
  };
}
