// Whether a replica can still be sure of its partitions: by when it was last heard, also after it stood still.
import type { Broadcast } from '@integration-sync/runtime/bus';
import { expect, it, vi } from 'vitest';
import { OwnedPartitions } from '../../../services/webhooks/src/owning/ownership.ts';
import { openReplicas } from '../../../services/webhooks/src/owning/replicas.ts';

/** A replica whose beats come back when the test says, at a time that the test sets. */
function setUp() {
  let now = 10_000;
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now);
  const listeners = new Map<string, (message: Broadcast) => void>();
  const beats: Broadcast[] = [];
  const replicas = openReplicas({
    broadcast(subject, body, headers = {}) {
      beats.push({ subject, headers: new Map(Object.entries(headers)), body: Buffer.from(body) });
    },
    listen(subject, onMessage) {
      listeners.set(subject, onMessage);
      return { [Symbol.dispose]() {} };
    },
  });
  const owned = new OwnedPartitions(replicas);
  return {
    owned,
    replicas,
    after: (ms: number) => void (now += ms),
    /** The oldest beat that has not come back comes back. */
    echo() {
      const [beat] = beats.splice(0, 1);
      if (beat !== undefined) listeners.get(beat.subject)?.(beat);
    },
    /** Another replica sends a beat with these headers. */
    other: (headers: Record<string, string>) =>
      listeners.get('webhooks.replica.alive')?.({
        subject: 'webhooks.replica.alive',
        headers: new Map(Object.entries(headers)),
        body: Buffer.from('other'),
      }),
    /** Sends a beat at the present time. */
    beat: () => replicas.share(() => undefined),
    async [Symbol.asyncDispose]() {
      await replicas[Symbol.asyncDispose]();
      clock.mockRestore();
    },
  };
}

it('a beat of before a standstill says nothing of now', async () => {
  await using self = setUp();
  self.echo();
  expect(self.owned.isSure).toBe(true);
  self.after(500);
  self.beat();
  self.after(18_000);
  self.echo();
  expect([self.replicas.isHeard, self.owned.isSure]).toEqual([false, false]);
  self.beat();
  self.echo();
  expect([self.replicas.isHeard, self.owned.isSure]).toEqual([true, false]);
  self.owned.areVerified(self.replicas.gaps);
  expect(self.owned.isSure).toBe(true);
});

it('a gap while MongoDB is asked needs another look', async () => {
  await using self = setUp();
  self.echo();
  const { gaps } = self.replicas;
  self.after(2_100);
  self.beat();
  self.echo();
  self.owned.areVerified(gaps);
  expect(self.owned.isSure).toBe(false);
});

it('knows whether all living replicas open encrypted places of the feed', async () => {
  await using self = setUp();
  expect(self.replicas.allOpenPlaces).toBe(true);
  self.other({ sent: '1' });
  expect(self.replicas.allOpenPlaces).toBe(false);
  self.after(3_000);
  expect(self.replicas.allOpenPlaces).toBe(true);
  self.other({ sent: '1', opens: 'places' });
  expect(self.replicas.allOpenPlaces).toBe(true);
});
