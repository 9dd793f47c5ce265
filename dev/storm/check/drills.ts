// A drill, whose deliveries its receiver refuses: it counts for no endpoint, and is on no stream and in no attempt log.
import type { Webhook } from '@integration-sync/contracts';
import type { Check } from './facts.ts';

/** An attempt that a fault cut off may have failed so long before. */
const failedBeforeMs = 60_000;

export const checkDrills: Check = ({ asks, hits, eventById, isDeliveryStruck }, report) => {
  const ids = new Set(hits.filter(({ drill }) => drill).map(({ event }) => event));
  for (const id of ids) if (eventById.has(id)) report('drill', `${id} of a drill is on the stream`);
  for (const { path, begunMs, endedMs, answer } of asks.filter(({ by }) => by === 'endpoint 5')) {
    const {
      active,
      consecutiveFailures: failures,
      logged = [],
    }: Partial<Webhook> & { logged?: string[] } = Object(answer);
    const found = logged.find((id) => ids.has(id));
    if (found !== undefined) report('drill', `${path}: ${found} of a drill is in the attempt log`);
    if (failures === undefined || (active && failures === 0)) continue;
    if (isDeliveryStruck(begunMs - failedBeforeMs, endedMs)) continue;
    report('drill', `${path} is ${active ? 'active' : 'disabled'} with ${failures} failures after a drill`);
  }
};
