// The state of a webhook as a sentence. Pure.
import type { DeliveryAttempt, Webhook } from '../api/shapes.ts';
import { counted } from './count.ts';
import { shortTime } from './time.ts';

export type Standing = 'well' | 'failing' | 'stopped';

export const standingOf = ({ active, consecutiveFailures }: Webhook): Standing => {
  if (!active) return 'stopped';
  return consecutiveFailures > 0 ? 'failing' : 'well';
};

/** How many failures in a row disable a webhook. */
const failuresMax = 10;

/** `last` is the newest failed attempt of the webhook, if the page has loaded it. */
export function sentenceOf(webhook: Webhook, last: DeliveryAttempt | undefined, now: Date): string {
  const { active, consecutiveFailures: failures, disabledAt, disabledReason } = webhook;
  const times = counted(failures, 'failure');
  const lastly = last === undefined ? '' : `, the last ${answerOf(last)}`;
  if (active) {
    if (failures === 0) return 'Active.';
    const toGo = Math.max(failuresMax - failures, 0);
    return `Failing: ${times} in a row${lastly}. Disabled after ${failuresMax} failures in a row; ${toGo} to go.`;
  }
  const at = disabledAt === null ? '' : ` at ${shortTime(new Date(disabledAt), now)}`;
  if (disabledReason === 'manual') return `Paused by hand${at}.`;
  if (disabledReason === 'gone') return `Disabled${at}: the receiver answered 410 Gone.`;
  return `Disabled${at} after ${times}${lastly}.`;
}

export function answerOf({ responseStatus, error }: DeliveryAttempt): string {
  if (responseStatus !== null) return `a ${responseStatus}`;
  return `without an answer${error === null ? '' : ` (${error})`}`;
}
