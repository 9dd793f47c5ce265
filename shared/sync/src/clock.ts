// A clock that stands still while the machine's clock is set back by a few seconds. After a greater set-back it follows the machine
// immediately: the machine's clock was wrong before, and a replica whose clock is ahead takes over pushes of other replicas.
export type Clock = () => number;

const setBackMsMax = 5_000;

export function steadyClock(now: Clock = Date.now): Clock {
  let latest = -Infinity;
  return () => {
    const time = now();
    if (time > latest || time < latest - setBackMsMax) latest = time;
    return latest;
  };
}
