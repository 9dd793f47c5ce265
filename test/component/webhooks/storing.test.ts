// Storing parcels where answers of nats-server get lost.
import { openLog } from '@integration-sync/runtime/log';
import { expect, it } from 'vitest';
import { openStoring } from '../../../services/webhooks/src/fanout/storing.ts';
import { firstSending, packParcels } from '../../../services/webhooks/src/streams/messages.ts';
import { openRetry } from '../../../services/webhooks/src/tools/retry.ts';
import { openHouse } from '../../support/webhooks.ts';

const to = [{ endpointId: 'wh_none', epoch: 0, version: 1 }];

const parcelOf = (eventId: string) => {
  const events = [{ eventId, body: Buffer.from('{}') }];
  return [...packParcels({ integration: 'acme', sending: firstSending, to, events }, 'shared')];
};

// One publish after the other, and one atomic batch.
it.each([3, 20])('the stream has each of %i parcels once whose answer was lost', async (count) => {
  await using house = await openHouse();
  // Makes the streams; none reads from them.
  await (await house.start())[Symbol.asyncDispose]();
  const { signal } = new AbortController();
  let lost = 0;
  const store = openStoring({
    bus: {
      async publishBatch(messages) {
        const published = await house.bus.publishBatch(messages);
        if (lost > 0) return published;
        lost += 1;
        throw new Error('the answer was lost');
      },
    },
    retry: openRetry(openLog({ service: 'test', level: 'silent' }), signal),
    signal,
  });
  await store(Array.from({ length: count }, (_, n) => parcelOf(`e${n}`)).flat());
  expect(lost).toBe(1);
  expect(await house.bus.countMessages('DELIVERIES', 'deliveries.acme')).toBe(count);
});
