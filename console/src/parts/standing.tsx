import { nowOfGateway } from '../api/session.ts';
import type { DeliveryAttempt, Webhook } from '../api/shapes.ts';
import { sentenceOf, standingOf } from '../text/state.ts';

/** The state of a webhook: a coloured dot, and a sentence that says all without the colour. */
export function Standing({ webhook, last }: { webhook: Webhook; last?: DeliveryAttempt | undefined }) {
  return (
    <span class="standing">
      <span class={`dot ${standingOf(webhook)}`} aria-hidden="true" />
      {sentenceOf(webhook, last, new Date(nowOfGateway()))}
    </span>
  );
}
