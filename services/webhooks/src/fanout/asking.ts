// What the fan-out asks before it can match events. Bundles that were given back because no engine answers would come again
// behind newer ones, so a replica keeps them and asks on.
import type { Unsettled } from '../streams/ways.ts';
import type { Retry } from '../tools/retry.ts';
import type { Subscribers } from './subscribers.ts';

export interface Asking {
  subscribers: Pick<Subscribers, 'of'>;
  countUnsettled: () => Promise<Unsettled>;
}

/** Each fails only where the process stops meanwhile. */
export const askOn = ({ subscribers, countUnsettled }: Asking, retry: Retry): Asking => ({
  subscribers: {
    of: (integrations) => retry('looking up subscribers', () => subscribers.of(integrations)),
  },
  countUnsettled: () => retry('counting parcels', countUnsettled),
});
