// What happens to a store when the way to its database breaks while the database itself goes on.
import { openLog } from '@integration-sync/runtime/log';
import { openStore } from '@integration-sync/runtime/store';
import { expect, inject, it } from 'vitest';
import { awake } from '../../support/awake.ts';
import { eventually } from '../../support/eventually.ts';
import { openMongodbProxy } from '../../support/mongodb-proxy.ts';

const log = openLog({ service: 'test', level: 'silent' });

const answers = (asking: Promise<unknown>): Promise<boolean> =>
  asking.then(
    () => true,
    () => false,
  );

/** With an operation under way, without which the driver does not ask at once how its server is. */
async function cutTwice(): Promise<void> {
  await using proxy = await openMongodbProxy(inject('engines').mongodb);
  await using store = await openStore({ url: proxy.url, database: 'cut', log });
  const farms = store.collection('farms');
  for (let cut = 0; cut < 2; cut += 1) {
    const asking = proxy.holdNext('find', 'farms');
    const underWay = answers(farms.findOne());
    await asking;
    // At any moment between two questions of the driver, which asks one a second.
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 1_000));
    proxy.cut();
    await eventually(() => answers(farms.findOne()), Boolean, 30_000);
    await underWay;
    expect(store.connected).toBe(true);
  }
}

// What this proves: the driver, which in about every second of these cases asks its server on a connection
// that closes at that moment, does not wait for the answer for ever.
it(
  'the MongoDB store works again after all of its connections were closed at the same moment',
  { timeout: 90_000 },
  async () => {
    await Promise.all(Array.from({ length: 8 }, cutTwice));
  },
);

const connections = 12;

// What this proves: an operation whose connection closes while the driver writes does not wait for ever. The
// driver writes to a socket that is destroyed already, and waits for it to drain.
it(
  'the MongoDB store fails operations that began while its connections were closed',
  { timeout: 90_000 },
  async () => {
    await using proxy = await openMongodbProxy(inject('engines').mongodb);
    await using store = await openStore({ url: proxy.url, database: 'cut', log });
    const farms = store.collection('farms');
    for (let cut = 0; cut < 5; cut += 1) {
      await eventually(() => answers(farms.findOne()), Boolean, 30_000);
      // They are open and idle afterwards.
      await Promise.all(Array.from({ length: connections }, () => answers(farms.findOne())));
      const began = awake();
      proxy.cut();
      const asked: Promise<boolean>[] = [];
      for (let asks = 0; asks < connections; asks += 1) {
        // Between this and the closing of a socket that has ended there is nothing.
        await new Promise(setImmediate);
        asked.push(answers(farms.findOne()));
      }
      await Promise.all(asked);
      expect(awake() - began).toBeLessThan(3_000);
    }
  },
);

// What this proves: the same where no other operation and no question of the driver meets the end of the
// connections, so that nothing fails but the operation that waits.
it(
  'the MongoDB store fails a single operation that began while its connection was closed',
  { timeout: 90_000 },
  async () => {
    await using proxy = await openMongodbProxy(inject('engines').mongodb);
    await using store = await openStore({ url: proxy.url, database: 'cut', log });
    const farms = store.collection('farms');
    for (let cut = 0; cut < 5; cut += 1) {
      await eventually(() => answers(farms.findOne()), Boolean, 30_000);
      const began = awake();
      proxy.cut();
      for (let turn = 0; turn < cut; turn += 1) await new Promise(setImmediate);
      await answers(farms.findOne());
      expect(awake() - began).toBeLessThan(3_000);
    }
  },
);
