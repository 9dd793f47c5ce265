// Converts dates to the clock of the ledger, and tells whether a fault lasted at a time.
import type { FaultLine } from '../lines.ts';
import type { Push } from './push.ts';

export type ToLedger = (date: string) => number;

/** Converts dates of the machine's clock, which events, attempt logs and callers have, to the clock of the ledger. */
export function openDates(pushes: readonly Pick<Push, 'begunAt' | 'begunMs'>[]): ToLedger {
  const offsets = pushes.map(({ begunAt, begunMs }) => Date.parse(begunAt) - begunMs);
  const offset = offsets.toSorted((one, other) => one - other)[Math.floor(offsets.length / 2)] ?? 0;
  return (date) => Date.parse(date) - offset;
}

/** Whether a fault lasted in that span. */
export type IsStruck = (fromMs: number, toMs: number) => boolean;

export function openStruck(faults: readonly FaultLine[]): IsStruck {
  const spans = faults.map(({ atMs, untilMs, wholeMs }) => ({
    atMs,
    overMs: Math.max(untilMs, wholeMs ?? 0),
  }));
  return (fromMs, toMs) => spans.some(({ atMs, overMs }) => atMs <= toMs && overMs >= fromMs);
}

const elsewhere = new Set<string>(['gateway', 'gateway-2', 'catalog', 'batches']);

/**
 * Whether a fault strikes something that deliveries need: webhooks, NATS, or the database with the endpoints' state.
 */
export const touchesDeliveries = ({ target }: Pick<FaultLine, 'target'>): boolean => !elsewhere.has(target);
