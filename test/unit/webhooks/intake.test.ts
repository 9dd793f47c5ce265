// What happens to a delivery when its lane has ended it.
import { openLog } from '@integration-sync/runtime/log';
import type { StreamMessage } from '@integration-sync/runtime/bus';
import { expect, it } from 'vitest';
import type { KnownEndpoint } from '../../../services/webhooks/src/endpoints/cache.ts';
import { packParcels } from '../../../services/webhooks/src/streams/messages.ts';
import { lapsesAfterMs, openLeases } from '../../../services/webhooks/src/streams/leases.ts';
import { openIntake } from '../../../services/webhooks/src/intake/intake.ts';
import { openLanes } from '../../../services/webhooks/src/delivering/lanes.ts';
import { openRetry } from '../../../services/webhooks/src/tools/retry.ts';
import { signingKeyOf } from '../../../services/webhooks/src/secrets/signature.ts';
import { eventually } from '../../support/eventually.ts';
import { passTurns } from '../../support/turns.ts';
import { messageFor, openEndpoint } from '../../support/webhook-parts.ts';

const log = openLog({ service: 'test', level: 'silent' });

function parcelFor(endpointId: string, sequence = 1): { message: StreamMessage; settled: string[] } {
  const to = [{ endpointId, epoch: 0, version: 1 }];
  const events = [{ eventId: 'one', body: Buffer.from('{}') }];
  const [parcel] = packParcels({ integration: 'acme', sending: '0', to, events }, 'shared');
  if (parcel === undefined) throw new Error('nothing was packed');
  const settled: string[] = [];
  const message = messageFor({
    ...parcel,
    sequence,
    ack: () => void settled.push('ack'),
    nak: () => void settled.push('nak'),
  });
  return { message, settled };
}

/** The endpoint closes while the delivery is under way, and for a while no replica can be made its owner. */
function openHouse({
  deliver,
  inFlightMax = 10,
  now = () => performance.now(),
}: {
  deliver: (known: KnownEndpoint) => Promise<'settled'>;
  inFlightMax?: number;
  now?: () => number;
}) {
  const known: KnownEndpoint = {
    endpoint: openEndpoint('wh_1'),
    open: true,
    key: signingKeyOf('whsec_AAAA'),
    previousKeys: [],
  };
  const stack = new DisposableStack();
  const setAside: string[] = [];
  let refusals = 1;
  let ensured = 0;
  const take = openIntake({
    cache: { peek: () => known, get: async () => known },
    lanes: stack.use(openLanes({ inFlightMax })),
    leases: stack.use(openLeases({ now })),
    setAside: { put: (_inHand, { eventId }) => void setAside.push(eventId), room: () => undefined },
    owners: {
      async ensure() {
        refusals -= 1;
        if (refusals >= 0) throw new Error('the database is away');
        ensured += 1;
      },
    },
    deliver: (found) => deliver(found),
    metrics: { deliveryLag: () => undefined },
    retry: openRetry(log, new AbortController().signal),
    log,
  });
  return { take, setAside, ensured: () => ensured, [Symbol.dispose]: () => stack.dispose() };
}

it('a delivery that was tried is not set aside as a new one while no owner is to be found', async () => {
  using house = openHouse({
    async deliver(known) {
      known.open = false;
      return 'settled';
    },
  });
  const { message, settled } = parcelFor('wh_1');
  void house.take(message);
  await eventually(
    () => [...settled, ...house.setAside],
    (all) => all.length > 0,
  );
  expect(house.setAside).toEqual([]);
  expect(settled).toEqual(['ack']);
  expect(house.ensured()).toBe(1);
});

it('a delivery that did not leave is set aside', async () => {
  using house = openHouse({ deliver: () => Promise.reject(new Error('out of sockets')) });
  const { message, settled } = parcelFor('wh_1');
  void house.take(message);
  await eventually(
    () => house.setAside,
    (all) => all.length > 0,
  );
  expect(house.setAside).toEqual(['one']);
  expect(settled).toEqual([]);
});

// Setup: a place for one delivery at a time; one is in flight, and one waits.
// Timeline: the process stands still for longer than its leases hold, and then the first is answered.
it.each([
  ['is not sent by this replica', lapsesAfterMs + 1, 1, []],
  ['is sent where the process stood still for less', lapsesAfterMs - 1, 2, ['ack']],
])('a delivery that waited while the process stood still %s', async (_what, stoodStillMs, sent, ofSecond) => {
  let nowMs = 0;
  const answers = Promise.withResolvers<'settled'>();
  let delivered = 0;
  using house = openHouse({
    inFlightMax: 1,
    now: () => nowMs,
    deliver() {
      delivered += 1;
      return answers.promise;
    },
  });
  const [first, second] = [parcelFor('wh_1', 1), parcelFor('wh_1', 2)];
  void house.take(first.message);
  void house.take(second.message);
  nowMs += stoodStillMs;
  answers.resolve('settled');
  await eventually(
    () => first.settled,
    ({ length }) => length > 0,
  );
  // A place that becomes free is given away in the next turn of the event loop.
  await passTurns(2);
  expect(delivered).toBe(sent);
  expect(second.settled).toEqual(ofSecond);
  expect(house.setAside).toEqual([]);
});
