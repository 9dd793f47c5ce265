// How a running installation comes from the nats.conf of 1.1.0, in which all logins are in one account, to that of this release:
// all services are of this release, and nats-server reads the new file (docs/operating.md#users).
import { copyFile } from 'node:fs/promises';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect, inject, it } from 'vitest';
import { temporaryFolder } from '../support/folder.ts';
import { natsConfFile } from '../support/nats-users.ts';
import { openReceiver } from '../support/receiver.ts';
import { openSystemWithUsers } from '../support/users-system.ts';

const formerFile = fileURLToPath(new URL('../upgrade/nats-1.1.0.conf', import.meta.url));

it('a running system comes to the new file by a reload: nothing is lost or comes twice, 503 for 5 s at most', async () => {
  await using folder = await temporaryFolder();
  const conf = join(folder.path, 'nats.conf');
  await copyFile(formerFile, conf);
  await using system = await openSystemWithUsers(inject('engines').mongodb, conf);
  await using receiver = await openReceiver();
  const acme = `acme-${randomUUID()}`;
  const hook = { url: receiver.url, events: ['supplier.created'] };
  expect((await system.call(acme, 'POST', '/webhook-events', hook)).status).toBe(201);

  const done: string[] = [];
  const refusedAtMs: number[] = [];
  const isOver = new AbortController();
  const push = async (caller: number): Promise<void> => {
    for (let nth = 0; !isOver.signal.aborted; nth += 1) {
      const externalId = `S-${caller}-${nth}`;
      const body = { suppliers: [{ externalId, name: 'Supplier', country: 'SE' }] };
      // A refused push is repeated, as by any caller.
      for (let isDone = false; !isDone;) {
        const { status } = await system.call(acme, 'POST', '/suppliers', body);
        isDone = status === 200;
        if (!isDone) {
          refusedAtMs.push(performance.now());
          await wait(50);
        }
      }
      done.push(externalId);
    }
  };
  const pushing = [0, 1, 2, 3].map(push);
  await receiver.received(20, { withinMs: 30_000 });
  await copyFile(natsConfFile, conf);
  const reload = (): void => {
    for (const pid of system.nats.engine.pids()) process.kill(pid, 'SIGHUP');
  };
  reload();
  // After the first reload nats-server finds no subject of the account whose exports are new.
  await wait(1_000);
  reload();
  const before = done.length;
  await expect.poll(() => done.length, { timeout: 30_000 }).toBeGreaterThan(before + 100);
  isOver.abort();
  await Promise.all(pushing);
  await receiver.received(done.length, { withinMs: 60_000 });
  expect((await system.call(acme, 'GET', '/suppliers?limit=1')).body.total).toBe(done.length);
  // Deliveries go out in order: what comes twice comes before the last.
  await system.call(acme, 'POST', '/suppliers', {
    suppliers: [{ externalId: 'last', name: 'Last', country: 'SE' }],
  });
  await receiver.received(done.length + 1, { withinMs: 60_000 });
  expect(receiver.hits).toHaveLength(done.length + 1);
  expect((refusedAtMs.at(-1) ?? 0) - (refusedAtMs[0] ?? 0)).toBeLessThan(5_000);
  await using reader = await system.nats.connectAs('reader');
  expect(await reader.nats.request('svc.catalog.suppliers.list').catch(() => 'nobody')).toBe('nobody');
}, 180_000);
