// Checks keys: a key serves from 10 s after it was written into the file of clients, and at most until 10 s after it was removed.
import type { AskLine } from '../lines.ts';
import type { Check } from './facts.ts';
import { seconds } from './times.ts';

const heardWithinMs = 10_000;

const holds = ({ sent }: AskLine, key: unknown): boolean => Array.isArray(sent) && sent.includes(key);

export const checkKeys: Check = ({ asks, faults }, report) => {
  const own = asks.filter(({ by }) => by === 'keys');
  const writes = own.filter(({ method }) => method === 'WRITE');
  // A frozen or starting gateway reads the file when it goes on.
  const goesOnMs = (fromMs: number, toMs: number): number => {
    const struck = faults.filter(({ target, atMs }) => target.startsWith('gateway') && atMs <= toMs);
    return Math.max(fromMs, ...struck.map(({ untilMs }) => untilMs));
  };
  for (const { sent: key, begunMs, endedMs, outcome } of own.filter(({ method }) => method !== 'WRITE')) {
    const at = writes.findLastIndex((write) => write.endedMs <= begunMs);
    const [write, next] = [writes[at], writes[at + 1]];
    if (write === undefined || (next !== undefined && next.begunMs <= endedMs)) continue;
    const isGood = holds(write, key);
    // Since when the file has, or lacks, the key.
    const since = writes
      .slice(0, at + 1)
      .findLast((one, nth) => nth === 0 || holds(writes[nth - 1] ?? one, key) !== isGood);
    const sinceMs = goesOnMs(since?.endedMs ?? 0, endedMs);
    if (begunMs <= sinceMs + heardWithinMs || outcome !== (isGood ? 401 : 200)) continue;
    const after = `${seconds(begunMs - sinceMs)} after it was ${isGood ? 'written' : 'removed'}`;
    report('key', `the key ${String(key)} was answered ${outcome} ${after}`);
  }
};
