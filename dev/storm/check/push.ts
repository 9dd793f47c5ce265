// One push, put together from its lines in the ledger.
import type { BegunLine, EndedLine, Listed, Plural, PushAnswered } from '../lines.ts';
import { erasedPrefix } from '../own-ids.ts';

export interface Push extends Omit<BegunLine, 'push' | 'wrong'>, Omit<EndedLine, 'push'> {
  id: string;
  /** The positions of items that are wrong on purpose, each with the beginning of the expected reason. */
  wrong: ReadonlyMap<number, string>;
}

/** A push that was answered 200, with all that such an answer has. */
export type Answered = Push & { answer: PushAnswered; syncId: string };

/** A push never ends if its caller was cut off before the answer. */
export const pushOf = ({ push: id, wrong, ...begun }: BegunLine, ended: Partial<EndedLine> = {}): Push => ({
  ...begun,
  endedMs: Infinity,
  outcome: 'silent',
  ...ended,
  id,
  wrong: new Map(wrong),
});

export const isAcknowledged = ({ outcome }: Push): boolean => outcome === 200;

export const isAnswered = (push: Push): push is Answered =>
  isAcknowledged(push) && push.answer !== undefined && push.syncId !== undefined;

/** Whether the push may have taken effect, in part or wholly, without an answer that says so. */
export const isUncertain = ({ outcome }: Push): boolean =>
  typeof outcome === 'number' ? outcome >= 500 : outcome !== 'refused';

export const listingOf = ({ integration, plural }: Listed): string => `${integration}/${plural}`;

export const keyOf = (integration: string, plural: Plural, externalId: string): string =>
  `${integration}/${plural}/${externalId}`;

/** Private ids begin with this prefix; several callers may push other ids concurrently. */
export const privatePrefix = 'p-';

/** Other checks ignore records that are erased, or may be erased. */
export const isErased = (externalId: string): boolean =>
  externalId === '' || externalId.startsWith(erasedPrefix);
