// ops integrations: one line for each integration, beside running replicas. INTEGRATIONS=1000 INTEGRATIONS_RECORDS=1000000
// INTEGRATIONS_PUSHES=14000 stores as much for the figure, which takes some minutes more.
import { randomUUID } from 'node:crypto';
import { readConfig } from '@integration-sync/runtime/config';
import { openLog } from '@integration-sync/runtime/log';
import { startWebhooks } from '@integration-sync/webhooks';
import { WebhooksConfig } from '@integration-sync/webhooks/config';
import { newSyncId, orderOf } from '../../../shared/sync/src/ids.ts';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { runOps, startOps } from '../../support/ops.ts';
import { openWorld, type World } from '../../support/sync.ts';
import { clientOf, secretKey } from '../../support/webhooks.ts';

const hourMs = 3_600_000;
const closing = new AsyncDisposableStack();
let world: World;
let environment: Record<string, string>;

beforeAll(async () => {
  world = closing.use(await openWorld(inject('engines').mongodb));
  await Promise.all([world.startCatalog(), world.startBatches()]);
  environment = { ...world.environment, WEBHOOK_SECRET_KEY: secretKey, WEBHOOK_EGRESS_ALLOW: '127.0.0.0/8' };
  const log = openLog({ service: 'webhooks', level: 'silent' });
  closing.use(await startWebhooks(readConfig(WebhooksConfig, environment), { log }));
  environment['LOG_LEVEL'] = 'warn';
});
afterAll(() => closing.disposeAsync());

interface Line {
  integration: string;
  lastPushAt: Record<string, string | null>;
  lastRun: { entityType: string; failedShare: number } | null;
  overdue: { entityType: string; dueAt: string }[];
  webhooks: { all: number; disabled: number; behind: number };
}

const ops = async (...args: string[]) => {
  const ended = await runOps(['integrations', ...args], environment);
  expect(ended.stderr).toBe('');
  return ended;
};
const lines = async (...args: string[]): Promise<{ code: number | null; lines: Line[] }> => {
  const { code, stdout } = await ops('--json', ...args);
  return { code, lines: JSON.parse(stdout).integrations };
};

it('ops integrations lists pushes, failures, overdue pushes and webhooks of each integration', async () => {
  const [well, failing, late, webhooked, quiet] = ['well', 'failing', 'late', 'webhooked', 'quiet'].map(
    (name) => world.caller(`${name}-${randomUUID()}`),
  );
  if (!well || !failing || !late || !webhooked || !quiet) throw new Error('there are five');
  const supplier = { externalId: 's', name: 'N' };
  const before = new Date(Date.now() - 1).toISOString();
  const [allBefore, problemsBefore] = [await lines(), await lines('--problems')];
  await well.push('suppliers', [supplier]);
  await well.push('products', [{ externalId: 'p', name: 'N' }]);
  await well.push('batches', [{ externalId: 'b', productExternalId: 'p', batchNumber: 'B' }]);
  await failing.push('suppliers', [supplier, supplier, supplier, {}]);
  await late.expect({ batches: { everyHours: 1 } });
  const url = 'http://127.0.0.1:9/hook';
  const client = clientOf(world.bus, webhooked.integration);
  const [first, second, third] = [
    await client.register(url, ['batch.created']),
    await client.register(url, ['batch.created']),
    await client.register(url, ['batch.created']),
  ];
  // Paused by its caller, which is no problem.
  await client.ask('change', { id: second.id, body: { active: false } });
  const endpoints = world.store.collection<{ _id: string; active: boolean; disabledReason: string | null }>(
    'webhook_endpoints',
  );
  await endpoints.updateOne({ _id: first.id }, { $set: { active: false, disabledReason: 'gone' } });
  await world.store
    .collection<{ _id: string; isBehind: boolean; offsets: object }>('webhook_offsets')
    .updateOne(
      { _id: webhooked.integration },
      { $set: { isBehind: true, offsets: { [third.id]: {}, [first.id]: {} } } },
      { upsert: true },
    );
  // As a push with a key stores it.
  await world.store
    .collection<{ integration: string; client: string }>('catalog_journal')
    .updateOne({ integration: failing.integration }, { $set: { client: 'nightly' } });
  // As a check stores it.
  const dueAt = new Date(Date.now() - 3 * hourMs);
  await world.store
    .collection<{ integration: string; overdue: object; checkAt: Date }>('catalog_expectations')
    .updateOne(
      { integration: late.integration },
      {
        $set: {
          overdue: { dueAt, foundAt: dueAt, isAnnounced: true },
          checkAt: new Date(Date.now() + hourMs),
        },
      },
    );

  const all = await lines();
  expect(all.code).toBe(0);
  const of = (integration: string): Line | undefined =>
    all.lines.find((line) => line.integration === integration);
  const none = { all: 0, disabled: 0, behind: 0 };
  const nothing = { suppliers: null, products: null, batches: null };
  const wellLine = of(well.integration);
  expect(wellLine).toMatchObject({
    lastRun: { entityType: 'batch', failedShare: 0 },
    overdue: [],
    webhooks: none,
  });
  for (const at of Object.values(wellLine?.lastPushAt ?? {})) expect((at ?? '') > before).toBe(true);
  expect(Object.keys(wellLine?.lastPushAt ?? {})).toEqual(['suppliers', 'products', 'batches']);
  expect(of(failing.integration)?.lastRun).toMatchObject({
    entityType: 'supplier',
    client: 'nightly',
    failedShare: 0.25,
  });
  expect(of(late.integration) ?? {}).toMatchObject({
    lastPushAt: nothing,
    lastRun: null,
    overdue: [{ entityType: 'batch', dueAt: dueAt.toISOString() }],
  });
  expect(of(webhooked.integration)?.webhooks).toEqual({ all: 3, disabled: 1, behind: 1 });
  expect(of(quiet.integration)).toBeUndefined();

  const problems = await lines('--problems');
  expect(problems.code).toBe(3);
  expect(problems.lines.map(({ integration }) => integration)).toEqual(
    [...problemsBefore.lines, failing, late, webhooked].map(({ integration }) => integration).toSorted(),
  );
  const { stdout } = await ops('--problems');
  expect(stdout).toMatch(
    new RegExp(`^${failing.integration} +\\d+ s +– +– +25 % +nightly +– +0 / 0 / 0$`, 'm'),
  );
  expect(stdout).toMatch(new RegExp(`^${late.integration} +– +– +– +– +– +batch 3 h +0 / 0 / 0$`, 'm'));
  expect(stdout).toContain(
    `${problemsBefore.lines.length + 3} of ${allBefore.lines.length + 4} integrations have a problem.`,
  );
});

const count = Number(process.env['INTEGRATIONS'] ?? 50);
const records = Number(process.env['INTEGRATIONS_RECORDS'] ?? 500);
/** Of each kind. */
const pushes = Number(process.env['INTEGRATIONS_PUSHES'] ?? 200);
const atOnce = 2_000;
const weekMs = 7 * 24 * hourMs;

interface Stored {
  _id: string;
  integration?: string;
  externalId?: string;
  order?: string;
  startedAt?: Date;
}

interface Copy {
  of: string;
  to: string;
  nth: number;
  at: Date;
}

/** A copy of a watermark, a journal entry or a record. */
function copyOf(stored: Stored, { of, to: integration, nth, at }: Copy): Stored {
  if (stored.integration === undefined) return { ...stored, _id: stored._id.replace(of, integration) };
  const syncId = newSyncId(at);
  if (stored.externalId === undefined) return { ...stored, _id: syncId, integration, startedAt: at };
  const [_id, order] = [`${syncId}-record`, orderOf(syncId, 0)];
  return { ...stored, _id, integration, externalId: `e-${nth}`, order };
}

/** Stores what one integration has in a collection `times` over, in turn for the integrations of these names. */
async function copy(collection: string, of: string, names: readonly string[], times: number): Promise<void> {
  const documents = world.store.collection<Stored>(collection);
  const all = await documents.find({ $or: [{ integration: of }, { _id: new RegExp(`^${of}/`) }] }).toArray();
  expect(all).not.toEqual([]);
  for (let from = 0; from < times; from += atOnce) {
    const copies = Array.from({ length: Math.min(atOnce, times - from) }, (_, index): Copy => {
      const nth = from + index;
      const at = new Date(Date.now() - (1 - nth / times) * weekMs);
      return { of, to: names[nth % names.length] ?? '', nth, at };
    });
    const made = copies.flatMap((one) => all.map((stored) => copyOf(stored, one)));
    await documents.insertMany(made, { ordered: false });
  }
}

it(
  'ops integrations reads many integrations within two seconds, by a constant number of queries',
  { timeout: 1_200_000 },
  async () => {
    const model = world.caller();
    await model.push('suppliers', [{ externalId: 's', name: 'N' }]);
    await model.push('products', [{ externalId: 'p', name: 'N' }]);
    await model.push('batches', [{ externalId: 'b', productExternalId: 'p', batchNumber: 'B' }]);
    const pushed = { integration: model.integration, state: 'announced' };
    for (const [service, announced] of [
      ['catalog', 2],
      ['batches', 1],
    ] as const)
      await eventually(
        () => world.store.collection<Stored & { state: string }>(`${service}_journal`).countDocuments(pushed),
        (found) => found === announced,
      );
    const names = Array.from({ length: count }, () => randomUUID());
    for (const service of ['catalog', 'batches']) {
      await copy(`${service}_heads`, model.integration, names, count);
      await copy(`${service}_journal`, model.integration, names, pushes);
    }
    await copy('suppliers', model.integration, names, records);
    let began = performance.now();
    const { lines: found } = await lines();
    const ms = performance.now() - began;
    expect(
      found.filter(({ lastRun, lastPushAt }) => lastRun !== null && lastPushAt['suppliers'] !== null).length,
    ).toBeGreaterThan(count);
    expect(ms).toBeLessThan(2_000);
    if (count === 50) return;
    // As an operator has it, with the start of a process.
    began = performance.now();
    expect((await startOps(['integrations'], environment).ended).code).toBe(0);
    const withStartMs = performance.now() - began;
    process.stderr.write(
      `ops integrations of ${count}: ${Math.round(ms)} ms, ${Math.round(withStartMs)} ms with the start\n`,
    );
    expect(withStartMs).toBeLessThan(2_000);
  },
);
