// A narrow endpoint has one delivery under way at a time, whatever replica sends it.
import type { DeliveryLine, EndpointLine } from '../lines.ts';
import { seconds } from './story.ts';
import type { Report } from './violations.ts';

interface Seen {
  endpoints: readonly EndpointLine[];
  deliveries: readonly DeliveryLine[];
}

export function checkInFlight({ endpoints, deliveries }: Seen, report: Report): void {
  for (const { endpoint } of endpoints.filter(({ behaviour }) => behaviour === 'narrow')) {
    // A delivery whose sender had gone may overlap the next one.
    const own = deliveries.filter((hit) => hit.endpoint === endpoint && hit.status > 0);
    const inOrder = own.toSorted((one, other) => one.begunMs - other.begunMs);
    for (const [nth, { event, begunMs }] of inOrder.entries()) {
      const before = inOrder[nth - 1];
      if (before === undefined || before.atMs <= begunMs) continue;
      const what = `${endpoint} was sent ${event} at ${seconds(begunMs)}, while it had ${before.event} until ${seconds(before.atMs)}`;
      report({ class: 'in-flight', what });
    }
  }
}
