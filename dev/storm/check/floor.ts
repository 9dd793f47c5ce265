// Checks that the service accepted and delivered a minimum: a service that refuses every push would break no other promise. Also checks
// that no service held too much memory.
import { plurals, type Lines } from '../lines.ts';
import { isTaken, type Check } from './facts.ts';
import { isAcknowledged } from './push.ts';

export const checkFloor: Check = ({ pushes, floor, seconds, deliveries, events }, report) => {
  const acknowledged = pushes.filter(isAcknowledged);
  const expect = (what: string, count: number, perSecond: number): void => {
    if (count < perSecond * seconds)
      report('floor', `${count} ${what} in ${seconds} s; ${perSecond} in a second are the least`);
  };
  for (const plural of plurals) {
    const count = acknowledged.filter((push) => push.plural === plural).length;
    expect(`acknowledged pushes of ${plural}`, count, floor.pushes);
  }
  const items = acknowledged.reduce((sum, push) => sum + push.items.length, 0);
  expect('acknowledged items', items, floor.acknowledgedItems);
  expect('events', events.length, floor.events);
  expect('deliveries that were answered 2xx', deliveries.filter(isTaken).length, floor.deliveries);
};

const memoryMbMax = 512;

export function mostMemory(lines: Lines['memory']): Map<string, number> {
  const most = new Map<string, number>();
  for (const { service, mb } of lines) most.set(service, Math.max(mb, most.get(service) ?? 0));
  return most;
}

export const checkMemory: Check = ({ memory }, report) => {
  for (const [service, mb] of mostMemory(memory))
    if (mb > memoryMbMax)
      report('memory', `${service} held ${mb.toFixed(0)} MB; ${memoryMbMax} MB are allowed`);
};
