// What an attempt means, made to hold for every replica: decided by schedule.ts on what stands in the database,
// stored on the condition that it still stands there, and told to all.
import { attemptDelaysMs } from '@integration-sync/contracts';
import type { Endpoint } from './endpoint.ts';
import type { Endpoints } from './endpoints.ts';
import type { Numbers } from './numbers.ts';
import { decideNext, type Next, type Verdict } from './schedule.ts';

export interface FailedAttempt {
  endpointId: string;
  /** The epoch that the delivery was meant for. */
  epoch: number;
  /** Of the endpoint, when the attempt began. */
  mark: number;
  number: number;
  verdict: Exclude<Verdict, 'succeeded'>;
  /** Where the event is held. */
  sequence: number;
  /** When it would be tried again. */
  dueAt: Date;
}

export interface Ledger {
  succeeded(endpointId: string, epoch: number): Promise<void>;
  /** What comes next for the event; undefined if the endpoint is no more. */
  failed(attempt: FailedAttempt): Promise<Next | undefined>;
}

export interface LedgerOptions {
  endpoints: Pick<Endpoints, 'find' | 'recordSuccess' | 'recordFailure' | 'disable'>;
  /** To this replica and all others. */
  tellChanged: (endpointId: string) => void;
  /** The endpoint was disabled, and that is still to be announced. */
  announce: (endpoint: Endpoint) => void;
  numbers: Pick<Numbers, 'disabledBy'>;
}

export function openLedger({ endpoints, tellChanged, announce, numbers }: LedgerOptions): Ledger {
  /** The endpoint as it is after the decision, or undefined if somebody else was faster. */
  const store = async (read: Endpoint, attempt: FailedAttempt, next: Next): Promise<Endpoint | null> => {
    if (next.disable !== undefined) {
      const disabled = await endpoints.disable(read, next.disable, next.failures, new Date());
      if (disabled !== null) {
        numbers.disabledBy(next.disable);
        announce(disabled);
      }
      return disabled;
    }
    const { sequence, number, dueAt } = attempt;
    return endpoints.recordFailure(read, next.failures, { sequence, attempts: number, dueAt });
  };

  return {
    async succeeded(endpointId, epoch) {
      if (await endpoints.recordSuccess(endpointId, epoch)) tellChanged(endpointId);
    },
    async failed(attempt) {
      for (;;) {
        const read = await endpoints.find(attempt.endpointId);
        if (read === null) return undefined;
        if (!read.active || read.epoch !== attempt.epoch) return missed(read);
        const next = decideNext({
          number: attempt.number,
          verdict: attempt.verdict,
          counts: read.mark === attempt.mark,
          failures: read.failures,
        });
        if (next.gate === 'unchanged') return next;
        if ((await store(read, attempt, next)) === null) continue;
        tellChanged(attempt.endpointId);
        return next;
      }
    },
  };
}

/** It was in flight when its endpoint was disabled. */
const missed = ({ failures }: Endpoint): Next => ({
  event: 'missed',
  delayMs: 0,
  failures,
  gate: 'unchanged',
  disable: undefined,
});

/** When an event would be tried again whose attempt of this number has just failed. */
export const dueAfter = (number: number, failedAt: Date): Date =>
  new Date(failedAt.getTime() + (attemptDelaysMs[number] ?? 0));
