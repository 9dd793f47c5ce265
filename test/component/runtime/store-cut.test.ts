// What happens to a store when the way to its database breaks while the database itself goes on.
import { openLog } from '@integration-sync/runtime/log';
import { openStore } from '@integration-sync/runtime/store';
import { expect, inject, it } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { openMongodbProxy } from '../../support/mongodb-proxy.ts';

const log = openLog({ service: 'test', level: 'silent' });

const answers = (asking: Promise<unknown>): Promise<boolean> =>
  asking.then(
    () => true,
    () => false,
  );

/** With something under way, without which the driver does not ask at once how its server is. */
async function cutTwice(): Promise<void> {
  await using proxy = await openMongodbProxy(inject('engines').mongodb);
  await using store = await openStore({ url: proxy.url, database: 'cut', log });
  const farms = store.collection('farms');
  for (let cut = 0; cut < 2; cut += 1) {
    const asking = proxy.holdNext('find', 'farms');
    const underWay = answers(farms.findOne());
    await asking;
    // Anywhere between two questions of the driver, of which it asks one a second.
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 1_000));
    proxy.cut();
    await eventually(() => answers(farms.findOne()), Boolean, 30_000);
    await underWay;
    expect(store.connected).toBe(true);
  }
}

// What this proves: the driver, which asks its server on a connection that is being closed at that moment, as it does
// in about every second of these cases, is not left waiting for the answer for ever.
it('answers again after all of its connections were closed at once', { timeout: 90_000 }, async () => {
  await Promise.all(Array.from({ length: 8 }, cutTwice));
});
