// The state of a webhook as a sentence. Pure.
import type { DeliveryAttempt, Webhook } from '../api/shapes.ts';
import { shortTime } from './time.ts';

export type Standing = 'well' | 'failing' | 'stopped';

export const standingOf = ({ active, consecutiveFailures }: Webhook): Standing => {
  if (!active) return 'stopped';
  return consecutiveFailures > 0 ? 'failing' : 'well';
};

/** `last` is its newest failed attempt, where the page knows it. */
export function sentenceOf(webhook: Webhook, last?: DeliveryAttempt, now = new Date()): string {
  const { active, consecutiveFailures: failures, disabledAt, disabledReason } = webhook;
  const times = `${failures} ${failures === 1 ? 'failure' : 'failures'}`;
  const lastly = last === undefined ? '' : `, the last ${answerOf(last)}`;
  if (active) return failures === 0 ? 'Active.' : `Failing: ${times} in a row${lastly}.`;
  const at = disabledAt === null ? '' : ` at ${shortTime(new Date(disabledAt), now)}`;
  if (disabledReason === 'manual') return `Paused by hand${at}.`;
  if (disabledReason === 'gone') return `Disabled${at}: the receiver answered 410 Gone.`;
  return `Disabled${at} after ${times}${lastly}.`;
}

export function answerOf({ responseStatus, error }: DeliveryAttempt): string {
  if (responseStatus !== null) return `a ${responseStatus}`;
  return `without an answer${error === null ? '' : ` (${error})`}`;
}
