// Checks that the service took and delivered a minimum: a service that refuses every push would break no other promise.
import { plurals, type DeliveryLine, type EventLine } from '../lines.ts';
import type { Floor } from '../profile.ts';
import { isAcknowledged, type Push } from './push.ts';
import type { Report } from './violations.ts';

interface Seen {
  floor: Floor;
  seconds: number;
  deliveries: readonly DeliveryLine[];
  events: readonly EventLine[];
}

export function checkFloor(
  pushes: readonly Push[],
  { floor, seconds, deliveries, events }: Seen,
  report: Report,
): void {
  const acknowledged = pushes.filter(isAcknowledged);
  const expect = (what: string, count: number, perSecond: number): void => {
    if (count >= perSecond * seconds) return;
    report({
      class: 'floor',
      what: `${count} ${what} in ${seconds} s; ${perSecond} in a second are the least`,
    });
  };
  for (const plural of plurals) {
    const count = acknowledged.filter((push) => push.plural === plural).length;
    expect(`acknowledged pushes of ${plural}`, count, floor.pushes);
  }
  const items = acknowledged.reduce((sum, push) => sum + push.items.length, 0);
  expect('acknowledged items', items, floor.acknowledgedItems);
  expect('events', events.length, floor.events);
  const taken = deliveries.filter(({ status }) => status >= 200 && status < 300).length;
  expect('deliveries that were answered 2xx', taken, floor.deliveries);
}
