// An endpoint that is further behind than the log reaches back.
import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { eventBatchesStream } from '@integration-sync/contracts';
import { expect, it } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { answer, hang, openReceiver, type Hit } from '../../support/receiver.ts';
import { openHouse } from '../../support/webhooks.ts';

it(
  'events that the log dropped before their delivery are logged, and the endpoint gets later events',
  { timeout: 60_000 },
  async () => {
    await using house = await openHouse();
    await using webhooks = await house.start();
    await using receiver = await openReceiver(hang);
    const client = house.newClient();
    const { id } = await client.register(receiver.url);
    await client.announce(8);
    for (let push = 0; push < 3; push += 1) await client.announce(4);
    const kept = await client.announce(4);
    await receiver.received(1);
    const counted = async (): Promise<string | undefined> =>
      /^webhook_lost_total\S* (\d+)$/m.exec(await (await fetch(webhooks.metricsUrl)).text())?.[1];
    expect(await counted()).toBe('0');

    await using connection = await connect({ servers: house.nats.url });
    const { lastSequence } = await house.bus.streamFacts(eventBatchesStream);
    await (await jetstreamManager(connection)).streams.purge(eventBatchesStream, { seq: lastSequence });
    receiver.behave(answer(204));

    await eventually(counted, (count) => count === '1', 15_000);
    const said = house.lines.filter((line) => line.includes('EVENT_BATCHES dropped events'));
    expect(said.map((line) => JSON.parse(line))).toMatchObject([
      { endpoint: id, integration: client.integration },
    ]);
    const isKept = ({ headers }: Hit): boolean => kept.includes(headers['webhook-id'] ?? '');
    await receiver.received(4, { withinMs: 30_000, where: isKept });
  },
);
