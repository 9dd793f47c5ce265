// Checks each event and delivery against its description in docs/asyncapi.json.
import { openDescribed } from '../described.ts';
import type { DeliveryLine, EventLine } from '../lines.ts';
import type { Report } from './violations.ts';

const described = openDescribed();

interface Messages {
  events: readonly EventLine[];
  deliveries: readonly DeliveryLine[];
}

export function checkDescribed({ events, deliveries }: Messages, report: Report): void {
  for (const event of events) {
    const fault = described.faultOfEvent(event);
    if (fault !== undefined) report({ class: 'undescribed', what: `${event.id} on the stream: ${fault}` });
  }
  for (const { endpoint, event, undescribed } of deliveries) {
    if (undescribed !== undefined)
      report({ class: 'undescribed', what: `${event} to ${endpoint}: ${undescribed}` });
  }
}
