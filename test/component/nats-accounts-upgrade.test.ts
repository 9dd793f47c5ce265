// How a running installation comes from the nats.conf of 1.1.0, in which all logins are in one account, to that of this release:
// all services are of this release, and nats-server reads the new file (docs/operating.md#users).
import { execFile } from 'node:child_process';
import { copyFile } from 'node:fs/promises';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, inject, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { temporaryFolder } from '../support/folder.ts';
import { openMixedSystem } from '../support/mixed-system.ts';
import {
  bringTo,
  natsConfFile,
  services,
  startNatsClusterWithUsers,
  type Logins,
} from '../support/nats-users.ts';
import { runOps } from '../support/ops.ts';
import { openReceiver } from '../support/receiver.ts';
import { openSystemWithUsers, type SystemWithUsers } from '../support/users-system.ts';
import { formerPrograms } from '../upgrade/former.ts';

const formerFile = fileURLToPath(new URL('../upgrade/nats-1.1.0.conf', import.meta.url));

interface Running extends AsyncDisposable, Pick<SystemWithUsers, 'call'> {
  nats: Logins;
  /** The file that nats-server reads. */
  conf: string;
  /** Brings streams and services to this release. */
  upgrade(): Promise<void>;
}

async function startPresent(): Promise<Running> {
  await using starting = new AsyncDisposableStack();
  const { path } = starting.use(await temporaryFolder());
  const conf = join(path, 'nats.conf');
  await copyFile(formerFile, conf);
  const system = starting.use(await openSystemWithUsers(inject('engines').mongodb, conf));
  const started = starting.move();
  return {
    nats: system.nats,
    conf,
    call: (...request) => system.call(...request),
    upgrade: () => Promise.resolve(),
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}

async function startFormer(): Promise<Running> {
  await using starting = new AsyncDisposableStack();
  const nats = starting.use(await startNatsClusterWithUsers(formerFile));
  const settings = { STREAM_REPLICAS: '3' };
  const ofOps = { ...settings, NATS_URL: nats.urlOf('ops') };
  const { ops } = await formerPrograms();
  const apply = (): Promise<unknown> =>
    promisify(execFile)(process.execPath, [ops, 'streams', '--apply'], { env: { ...process.env, ...ofOps } });
  // The servers have just started, and may have no leader yet.
  await eventually(() => apply().then(Boolean, () => false), Boolean, 60_000);
  const environment = {
    ...settings,
    MONGODB_URL: inject('engines').mongodb,
    MONGODB_DATABASE: `mixed_${randomUUID().replaceAll('-', '')}`,
  };
  const system = starting.use(
    await openMixedSystem(environment, (service) => ({ NATS_URL: nats.urlOf(service) })),
  );
  await Promise.all(services.map((service) => system.start(service, 'former')));
  await eventually(
    () => system.readiness(),
    ({ status }) => status === 200,
    60_000,
  );
  const started = starting.move();
  return {
    nats,
    conf: nats.conf,
    call: (...request) => system.call(...request),
    async upgrade() {
      expect(await runOps(['streams', '--apply'], ofOps)).toMatchObject({ code: 0 });
      for (const service of ['webhooks', 'catalog', 'batches', 'gateway'] as const)
        await system.roll(service, 'present');
    },
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}

const starts = [
  ['this release on one server', startPresent],
  ['the release before on three servers', startFormer],
] as const;
it.each(starts)(
  '%s moves to the new nats.conf under load: no event is lost or duplicated, and pushes are 503 for 5 s at most',
  { timeout: 180_000 },
  async (_before, start) => {
    await using system = await start();
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
          if (!isDone) refusedAtMs.push(performance.now());
          await wait(150);
        }
        done.push(externalId);
      }
    };
    const pushing = [0, 1, 2, 3].map(push);
    await receiver.received(20, { withinMs: 30_000 });
    await system.upgrade();
    expect(refusedAtMs).toEqual([]);
    await bringTo(natsConfFile, system.conf, system.nats);
    const before = done.length;
    await expect.poll(() => done.length, { timeout: 30_000 }).toBeGreaterThan(before + 40);
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
  },
);
