// What comes at the very moment at which a worker finds nothing left to do.
import { openLog } from '@integration-sync/runtime/log';
import { expect, it } from 'vitest';
import { openFanout } from '../../../services/webhooks/src/fanout/fanout.ts';
import type { Lease } from '../../../services/webhooks/src/streams/leases.ts';
import { openSetAside } from '../../../services/webhooks/src/retrying/set-aside.ts';
import { eventually } from '../../support/eventually.ts';
import { deliveryFor, messageFor } from '../../support/webhook-parts.ts';

const log = openLog({ service: 'test', level: 'silent' });
const moments = Array.from({ length: 12 }, (_, microtasks) => microtasks);

const message = messageFor({ subject: 'bundles.catalog.acme', body: Buffer.from('1 1\n  \n0 one {}\n') });

/** Settles things, and calls `onFirst` so many microtasks after the first of them. */
function counting(microtasks: number, onFirst: () => void): { take: () => Lease; count: () => number } {
  let count = 0;
  const later = (left: number): void => {
    if (left === 0) onFirst();
    else queueMicrotask(() => later(left - 1));
  };
  const ack = (): void => {
    count += 1;
    if (count === 1) later(microtasks);
  };
  const lease: Lease = {
    message,
    isLapsed: false,
    ack,
    giveBack: () => undefined,
    leave: () => undefined,
  };
  return { take: () => lease, count: () => count };
}

it.each(moments)('an event that comes %i microtasks after the last one is fanned out', async (microtasks) => {
  const leases = counting(microtasks, () => fanout.take(message));
  const fanout = openFanout({
    subscribers: { of: async () => new Map() },
    bus: { publishBatch: async () => [] },
    leases,
    metrics: { fanoutLag: () => undefined, fannedOut: () => undefined },
    countUnsettled: async () => ({ shared: new Map(), backlog: new Map() }),
    onBacklog: () => undefined,
    retry: (_what, work) => work(),
    signal: new AbortController().signal,
    log,
  });
  fanout.take(message);
  expect(await eventually(leases.count, (count) => count >= 2)).toBe(2);
});

it.each(moments)(
  'a delivery that comes %i microtasks after the last one is set aside',
  async (microtasks) => {
    const leases = counting(microtasks, () => setAside.put(leases.take(), deliveryFor('wh_1')));
    const setAside = openSetAside({
      held: { putAll: async () => undefined },
      owners: { ensure: async () => undefined },
      metrics: { setAside: () => undefined },
      retry: (_what, work) => work(),
      signal: new AbortController().signal,
      log,
    });
    setAside.put(leases.take(), deliveryFor('wh_1'));
    expect(await eventually(leases.count, (count) => count >= 2)).toBe(2);
  },
);
