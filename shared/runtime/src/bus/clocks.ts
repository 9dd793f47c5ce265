// When a message was sent, told by the clock of the process that receives it. Every process counts from a start of its
// own, and clocks of different machines differ; so a process that asks another one something learns from the answer what
// the other one's clock said at a moment between question and answer. From then on it knows how old that one's messages
// are, at most, to within the time that the question took.

export interface Clocks {
  /** The other process's clock said `theirsMs` at some moment since `askedAtMs`. */
  learn(process: string, theirsMs: number, askedAtMs: number): void;
  /** The earliest moment, by our clock, at which theirs can have said that; undefined where it is not known. */
  read(process: string, theirsMs: number): number | undefined;
}

interface Learnt {
  /** To be added to what their clock says. */
  offsetMs: number;
  atMs: number;
}

/** Two clocks drift apart by less than a millisecond in that time. */
const knownForMs = 30_000;
const processesMax = 1_000;

export function openClocks(now: () => number = () => performance.now()): Clocks {
  const learnt = new Map<string, Learnt>();
  return {
    learn(process, theirsMs, askedAtMs) {
      learnt.delete(process);
      const [oldest] = learnt.keys();
      if (oldest !== undefined && learnt.size >= processesMax) learnt.delete(oldest);
      learnt.set(process, { offsetMs: askedAtMs - theirsMs, atMs: now() });
    },
    read(process, theirsMs) {
      const known = learnt.get(process);
      const nowMs = now();
      if (known === undefined || nowMs - known.atMs > knownForMs) return undefined;
      const oursMs = theirsMs + known.offsetMs;
      // Nothing comes from the future: one of the clocks stood still together with its machine.
      return oursMs <= nowMs ? oursMs : undefined;
    },
  };
}
