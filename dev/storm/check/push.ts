// One push, put together from its lines in the ledger.
import type { BegunLine, Plural, PushAnswered, PushOutcome } from '../lines.ts';

export interface Push {
  id: string;
  lane: string;
  integration: string;
  plural: Plural;
  items: readonly unknown[];
  drafting: boolean;
  action?: BegunLine['action'];
  gateway: number;
  /** The items that are wrong on purpose: by position, the beginning of the expected reason. */
  wrong: ReadonlyMap<number, string>;
  begunMs: number;
  begunAt: string;
  /** Infinity where the caller was cut off before it had an answer. */
  endedMs: number;
  outcome: PushOutcome;
  retryAfter: string | undefined;
  problem: string | undefined;
  syncId: string | undefined;
  answer: PushAnswered | undefined;
}

export const isAcknowledged = ({ outcome }: Push): boolean => outcome === 200;

/** Whether the push may have taken effect, in part or wholly, without an answer that says so. */
export const isUncertain = ({ outcome }: Push): boolean =>
  typeof outcome === 'number' ? outcome >= 500 : outcome !== 'refused';
