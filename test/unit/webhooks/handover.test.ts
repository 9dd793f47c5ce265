import { setTimeout as wait } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { openHandover } from '../../../services/webhooks/src/partitions/handover.ts';

interface Answer {
  unacknowledged: number;
  readersWaiting: number;
  /** How long nats-server takes for it. */
  afterMs?: number;
}

const inHand: Answer = { unacknowledged: 3, readersWaiting: 0 };
const nothing: Answer = { unacknowledged: 0, readersWaiting: 0 };

/** The answers of nats-server, the last one for ever; resolves with how long the replica waited. */
async function waitedMs(answers: readonly Answer[], signal = new AbortController().signal): Promise<number> {
  const left = [...answers];
  const handedOver = openHandover(
    {
      async consumerFacts() {
        const { afterMs = 0, ...facts } = (left.length > 1 ? left.shift() : left[0]) ?? nothing;
        await wait(afterMs);
        return { ...facts, handedOutThrough: 0, pending: 0 };
      },
    },
    'BUNDLES',
  );
  const began = performance.now();
  await handedOver('consumer', signal);
  return performance.now() - began;
}

describe('a partition that goes to another replica', () => {
  it('is read as soon as no replica asks for it or has something of it in hand', async () => {
    expect(await waitedMs([nothing])).toBeLessThan(10);
    expect(await waitedMs([inHand, { unacknowledged: 0, readersWaiting: 1 }, nothing])).toBeLessThan(100);
  });

  it('is read after 5 s where the replica before it does not settle what it had in hand', async () => {
    const ms = await waitedMs([inHand]);
    expect(ms).toBeGreaterThanOrEqual(5_000);
    expect(ms).toBeLessThan(5_100);
  });

  it('is read 5 s of answers later where nats-server stands still meanwhile', async () => {
    const ms = await waitedMs([inHand, { ...inHand, afterMs: 30_000 }, inHand]);
    expect(ms).toBeGreaterThan(34_700);
    expect(ms).toBeLessThan(35_000);
  });

  it('is waited for by no replica that stops', async () => {
    const stop = new AbortController();
    setTimeout(() => stop.abort(), 1_000);
    expect(await waitedMs([inHand], stop.signal)).toBeLessThan(1_100);
  });
});
