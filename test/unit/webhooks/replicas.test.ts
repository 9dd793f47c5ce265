// Whether a replica can still be sure of its partitions, and which other replicas it takes for dead: by when each was last heard,
// also after it stood still.
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
  const hearAll = (): void => {
    for (const beat of beats.splice(0)) listeners.get(beat.subject)?.(beat);
  };
  return {
    owned,
    replicas,
    after: (ms: number) => void (now += ms),
    /** Lets time pass in which this replica hears its own beats and no other replica. */
    listen(ms: number) {
      for (const end = now + ms; now < end; hearAll()) {
        now += 500;
        replicas.share(() => undefined);
      }
    },
    /** What this replica says of itself now. */
    said: (header: string) => beats.at(-1)?.headers.get(header),
    /** The oldest beat that has not come back comes back. */
    echo() {
      const [beat] = beats.splice(0, 1);
      if (beat !== undefined) listeners.get(beat.subject)?.(beat);
    },
    /** All beats that have not come back come back at the same moment. */
    echoAll: hearAll,
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

it('a heartbeat from before a pause of the process does not count', async () => {
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

it('after a gap in heartbeats during its read of MongoDB, a replica is sure of its ownership only after another read', async () => {
  await using self = setUp();
  self.echo();
  const { gaps } = self.replicas;
  self.after(2_100);
  self.beat();
  self.echo();
  self.owned.areVerified(gaps);
  expect(self.owned.isSure).toBe(false);
});

it('a replica knows whether all living replicas open encrypted cursors of the feed', async () => {
  await using self = setUp();
  expect(self.replicas.allOpenPlaces).toBe(true);
  self.other({ sent: '1' });
  expect(self.replicas.allOpenPlaces).toBe(false);
  self.listen(3_000);
  expect(self.replicas.allOpenPlaces).toBe(true);
  self.other({ sent: '1', opens: 'places' });
  expect(self.replicas.allOpenPlaces).toBe(true);
});

it.each<[string, Record<string, string>, number]>([
  ['from which no other took partitions', { takeovers: '0' }, 2_500],
  ['of release 1.1.0, which says nothing of takeovers', {}, 2_500],
  ['from which others took partitions once', { takeovers: '1' }, 20_000],
  ['from which others took partitions three times', { takeovers: '3' }, 20_000],
])(
  'a replica %s counts as dead once it has been silent for long enough, and no sooner',
  async (_which, headers, silenceMs) => {
    await using self = setUp();
    self.listen(5_000);
    self.other({ sent: '1', shares: '1', ...headers });
    self.listen(silenceMs - 500);
    expect([self.replicas.isDead('other'), self.replicas.sharing().includes('other')]).toEqual([false, true]);
    self.listen(500);
    expect([self.replicas.isDead('other'), self.replicas.sharing().includes('other')]).toEqual([true, false]);
    self.other({ sent: '1', shares: '1', ...headers });
    expect([self.replicas.isDead('other'), self.replicas.sharing().includes('other')]).toEqual([false, true]);
  },
);

it('a replica that was stopped or cut off receives five own heartbeats before it declares another replica dead', async () => {
  await using self = setUp();
  self.listen(5_000);
  self.other({ sent: '1', shares: '1' });
  self.after(60_000);
  self.listen(2_000);
  expect([self.replicas.isDead('other'), self.replicas.sharing().includes('other')]).toEqual([false, true]);
  self.listen(500);
  expect([self.replicas.isDead('other'), self.replicas.sharing().includes('other')]).toEqual([true, false]);
});

it('a replica that was cut off from NATS takes no other for dead by own heartbeats that come back together', async () => {
  await using self = setUp();
  self.listen(5_000);
  self.other({ sent: '1', shares: '1' });
  for (let beats = 0; beats < 20; beats += 1) {
    self.after(500);
    self.beat();
  }
  self.echoAll();
  self.listen(1_500);
  expect([self.replicas.isDead('other'), self.replicas.sharing().includes('other')]).toEqual([false, true]);
  self.listen(500);
  expect([self.replicas.isDead('other'), self.replicas.sharing().includes('other')]).toEqual([true, false]);
});

it('a replica that is repeatedly paused for seconds takes over from a killed replica', async () => {
  await using self = setUp();
  self.listen(5_000);
  self.other({ sent: '1', shares: '1' });
  for (let turn = 0; turn < 3; turn += 1) {
    self.after(9_000);
    self.listen(1_000);
  }
  expect(self.replicas.isDead('other')).toBe(true);
});

it('an unknown owner of a partition is dead once this replica has listened for 2.5 s', async () => {
  await using self = setUp();
  self.listen(2_500);
  expect(self.replicas.isDead('unknown')).toBe(false);
  self.listen(500);
  expect(self.replicas.isDead('unknown')).toBe(true);
  self.after(60_000);
  self.listen(2_000);
  expect(self.replicas.isDead('unknown')).toBe(false);
});

it('heartbeats say whether other replicas took partitions of the sender within 10 min', async () => {
  await using self = setUp();
  expect([self.said('takeovers'), self.replicas.silenceMs]).toEqual(['0', 2_500]);
  self.replicas.wasTaken();
  expect([self.said('takeovers'), self.replicas.silenceMs]).toEqual(['1', 20_000]);
  self.after(5 * 60_000);
  self.replicas.wasTaken();
  expect([self.said('takeovers'), self.replicas.silenceMs]).toEqual(['1', 20_000]);
  self.after(9 * 60_000);
  self.beat();
  expect([self.said('takeovers'), self.replicas.silenceMs]).toEqual(['1', 20_000]);
  self.after(60_000);
  self.beat();
  expect([self.said('takeovers'), self.replicas.silenceMs]).toEqual(['0', 2_500]);
});
