// Converts dates to the clock of the ledger, and tells whether a fault lasted at a time.
import type { FaultLine } from '../lines.ts';
import type { Push } from './push.ts';

/** Converts dates of the machine's clock, which events, attempt logs and callers have, to the clock of the ledger. */
export function openDates(pushes: readonly Pick<Push, 'begunAt' | 'begunMs'>[]): (date: string) => number {
  const offsets = pushes.map(({ begunAt, begunMs }) => Date.parse(begunAt) - begunMs);
  const offset = offsets.toSorted((one, other) => one - other)[Math.floor(offsets.length / 2)] ?? 0;
  return (date) => Date.parse(date) - offset;
}

/** Whether a fault lasted in the given span. */
export type IsStruck = (fromMs: number, toMs: number) => boolean;

/** When the fault was over, and the cluster was whole again. */
export const overMs = ({ untilMs, wholeMs = 0 }: FaultLine): number => Math.max(untilMs, wholeMs);

export const openStruck =
  (faults: readonly FaultLine[]): IsStruck =>
  (fromMs, toMs) =>
    faults.some((fault) => fault.atMs <= toMs && overMs(fault) >= fromMs);

/** Whether a fault strikes something that deliveries need: webhooks, NATS, or the database with the endpoints' state. */
export const touchesDeliveries = ({ target }: Pick<FaultLine, 'target'>): boolean =>
  !/^(?:gateway|catalog|batches)/.test(target);

export const seconds = (ms: number): string => (Number.isFinite(ms) ? `${(ms / 1_000).toFixed(3)} s` : '–');
