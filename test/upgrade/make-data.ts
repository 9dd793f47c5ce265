// Makes a data set of the release in whose checkout it runs, for the upgrade test of the next one.
//
//   git worktree add ../release v1.1.0 && (cd ../release && npm ci && npm exec -- node test/upgrade/make-data.ts)
//   cp -r ../release/test/upgrade/data/1.1.0 test/upgrade/data/
//
// It runs the release on engines of its own, cuts it off in the middle of its work, and writes its folder of `data/` again.
// It takes two minutes, as webhooks disables an endpoint for its failures only after 73 s. It needs what is
// in test/support, and no more.
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { eventKinds } from '@integration-sync/contracts';
import { startEngine } from '@integration-sync/dev/engines';
import { stages } from '@integration-sync/sync';
import { eventually } from '../support/eventually.ts';
import { makeFolder } from '../support/folder.ts';
import { openReceiver, type Receiver } from '../support/receiver.ts';
import { startStoppingService } from '../support/stopping-service.ts';
import { openWorld, type Caller, type Plural, type World } from '../support/sync.ts';
import { startWebhookProcess } from '../support/webhook-process.ts';
import { clientOf } from '../support/webhooks.ts';
import { filesOf, version, type CutPush, type Item, type Known, type Listings } from './data-set.ts';
import { dumpMongodb, dumpStreams, writeJson } from './dump.ts';
import { batch, batches, product, products, supplier, suppliers } from './items.ts';
import { openNats, untilTaken } from './nats.ts';

const say = (line: string): void => void process.stderr.write(`${line}\n`);

const secretKey = `first:${Buffer.alloc(32, 7).toString('base64')}`;
const webhooksProgram = join(import.meta.dirname, '../../services/webhooks/src/main.ts');
const stoppingProgram = join(import.meta.dirname, '../support/processes/stopping-service.ts');
const disablingMs = 120_000;
const takenWithinMs = 60_000;

/** Behaves as its path says, and remembers what it has taken. */
interface Receiving extends AsyncDisposable {
  readonly receiver: Receiver;
  readonly answers: Map<string, number | 'none'>;
  readonly delivered: Map<string, string[]>;
}

async function openReceiving(): Promise<Receiving> {
  const answers = new Map<string, number | 'none'>();
  const delivered = new Map<string, string[]>();
  const receiver = await openReceiver(({ path, headers }, response) => {
    const status = answers.get(path) ?? 204;
    if (status === 'none') return;
    response.writeHead(status).end();
    if (status !== 204) return;
    delivered.set(path, [...(delivered.get(path) ?? []), headers['webhook-id'] ?? '']);
  });
  return { receiver, answers, delivered, [Symbol.asyncDispose]: () => receiver[Symbol.asyncDispose]() };
}

interface Making {
  world: World;
  known: Known;
  receiving: Receiving;
}

async function push(
  { world, known }: Making,
  integration: string,
  plural: Plural,
  items: Item[],
  autoCreateDDS = false,
): Promise<void> {
  await world.caller(integration).push(plural, items, autoCreateDDS ? { autoCreateDDS } : {});
  (known.pushed[integration] ??= []).push({ plural, items, autoCreateDDS });
}

async function register(
  { world, known, receiving }: Making,
  integration: string,
  path: string,
  events: readonly string[] = eventKinds,
): Promise<void> {
  const url = new URL(path, receiving.receiver.url).href;
  const { id, secret } = await clientOf(world.bus, integration).register(url, [...events]);
  known.webhooks[path.slice(1)] = { integration, id, path, secret, attempts: [], delivered: [] };
}

function webhookOf({ known }: Making, path: string) {
  const found = known.webhooks[path.slice(1)];
  if (found === undefined) throw new Error(`no webhook has the path ${path}`);
  return found;
}

async function showWebhook(making: Making, path: string): Promise<boolean> {
  const webhook = webhookOf(making, path);
  const { integration, id } = webhook;
  const { body } = await clientOf(making.world.bus, integration).ask('get', { id });
  const { events, active, disabledAt, disabledReason, consecutiveFailures } = body;
  webhook.shown = { events, active, disabledAt, disabledReason, consecutiveFailures };
  return active;
}

const hitsOn = ({ receiving }: Making, path: string, count: number): Promise<unknown> =>
  receiving.receiver.received(count, { withinMs: 60_000, where: (hit) => hit.path === path });

async function settled({ world }: Making): Promise<void> {
  await using nats = await openNats(world.nats.url);
  await untilTaken(nats, world.store, takenWithinMs);
}

/** Catalog and batches have announced every answered push, and noted that. */
async function announced({ world }: Making): Promise<void> {
  for (const journal of ['catalog_journal', 'batches_journal']) {
    await eventually(
      () => world.store.collection(journal).countDocuments({ state: { $ne: 'announced' } }),
      (count) => count === 0,
      60_000,
    );
  }
}

const listingsOf = async (caller: Caller): Promise<Listings> => ({
  suppliers: await caller.listAll('suppliers'),
  products: await caller.listAll('products'),
  batches: await caller.listAll('batches'),
  dds: (await caller.dds('limit=100')).entities,
  runs: (await caller.runs('limit=100')).entities,
});

const cutBefore = suppliers(0, 6);
/** Some stay as they were, some change, some are new, one is wrong. */
const cutSuppliers: Item[] = [
  ...suppliers(0, 3),
  ...suppliers(3, 6, { code: 'second' }),
  ...suppliers(6, 12),
  { externalId: 'wrong' },
];
const cutBatches = [batch(0, { quantity: 1 }), ...batches(1, 4)];
const cutIn = (plural: Plural, stage: string, integration: string): Omit<CutPush, 'since'> => ({
  integration,
  plural,
  stage,
  items: plural === 'batches' ? cutBatches : cutSuppliers,
  autoCreateDDS: plural === 'batches',
});
const overwritten = 'cut-overwritten';
const cuts = [
  ...['amid-writes', 'after-writes'].map((stage) => cutIn('batches', stage, `cut-batches-${stage}`)),
  // Before its entry a push leaves nothing.
  ...stages
    .filter((stage) => stage !== 'before-entry')
    .map((stage) => cutIn('suppliers', stage, `cut-${stage}`)),
  cutIn('suppliers', 'after-writes', overwritten),
];

/** What all have in use. */
async function pushFirst(making: Making): Promise<void> {
  for (const integration of ['acme', 'globex']) {
    await push(making, integration, 'suppliers', suppliers(0, 12));
    await push(making, integration, 'products', products(0, 12));
    await push(making, integration, 'batches', batches(0, 6), true);
    await push(making, integration, 'batches', batches(6, 9));
  }
  for (const { integration, plural } of cuts) {
    await push(making, integration, 'suppliers', cutBefore);
    if (plural === 'suppliers') continue;
    await push(making, integration, 'products', products(0, 4));
    await push(making, integration, 'batches', batches(0, 2), true);
  }
}

/** Endpoints that are disabled, each for a reason of its own, and have missed something. */
async function disableSome(making: Making): Promise<void> {
  const { world, receiving } = making;
  receiving.answers.set('/gone', 500).set('/manual', 500).set('/dead', 500);
  await register(making, 'acme', '/gone', ['supplier.created']);
  await register(making, 'acme', '/manual', ['supplier.created']);
  await register(making, 'acme', '/dead', ['supplier.created']);
  await push(making, 'acme', 'suppliers', suppliers(12, 16));
  await Promise.all([hitsOn(making, '/gone', 1), hitsOn(making, '/manual', 1)]);
  receiving.answers.set('/gone', 410);
  const { integration, id } = webhookOf(making, '/manual');
  await clientOf(world.bus, integration).ask('change', { id, body: { active: false } });
  for (const path of ['/gone', '/manual', '/dead']) {
    await eventually(
      () => showWebhook(making, path),
      (active) => !active,
      disablingMs,
    );
  }
}

/**
 * An endpoint for which webhooks holds deliveries, with attempts used up; another one in the middle of a
 * parcel.
 */
async function leaveSomeWaiting(making: Making): Promise<void> {
  const { receiving } = making;
  await register(making, 'initech', '/standing', ['supplier.created']);
  await push(making, 'initech', 'suppliers', [supplier(0)]);
  await hitsOn(making, '/standing', 1);
  receiving.answers.set('/failing', 500);
  await register(making, 'acme', '/failing', ['supplier.created']);
  await push(making, 'acme', 'suppliers', suppliers(16, 20));
  await hitsOn(making, '/failing', 2);
  await settled(making);
  receiving.answers.set('/standing', 'none');
  await push(making, 'initech', 'suppliers', suppliers(1, 4));
  await hitsOn(making, '/standing', 4);
}

const attemptsMin: Readonly<Record<string, number>> = {
  '/gone': 2,
  '/manual': 1,
  '/dead': 10,
  '/failing': 2,
};

async function noteWebhooks(making: Making): Promise<void> {
  for (const webhook of Object.values(making.known.webhooks)) {
    const { integration, id, path } = webhook;
    await showWebhook(making, path);
    const wanted = attemptsMin[path];
    if (wanted === undefined) continue;
    const asked = { id, query: 'limit=100' };
    const { body } = await eventually(
      () => clientOf(making.world.bus, integration).ask('deliveries', asked),
      (log) => log.body.entities.length >= wanted,
    );
    webhook.attempts = body.entities;
  }
}

async function pushUnread(making: Making): Promise<void> {
  await push(making, 'acme', 'suppliers', [
    ...suppliers(0, 4, { code: 'second' }),
    ...suppliers(20, 24),
    supplier(24, { name: '' }),
  ]);
  await push(making, 'acme', 'products', [product(0, { name: 'Another' }), product(12)]);
  await push(making, 'acme', 'batches', [batch(0, { quantity: 1 }), batch(6), batch(9)], true);
}

async function beginWalks({ world, known }: Making): Promise<void> {
  const caller = world.caller('acme');
  const since = new Date(Date.parse(known.madeAt) - 1_000).toISOString();
  for (const [plural, query] of [
    ['suppliers', 'limit=5'],
    ['products', `limit=5&since=${since}`],
    ['batches', 'limit=5'],
  ] as const) {
    const { next } = await caller.list(plural, query);
    if (next === undefined) throw new Error(`${plural} have one page only`);
    const rest = (await caller.listAll(plural, next)).map(({ externalId }) => externalId);
    known.walks.push({ plural, next, rest });
  }
}

/** Stops each push of a service at its stage, and then kills the process. */
async function cutOff({ world, known }: Making, service: 'catalog' | 'batches'): Promise<void> {
  // Stopped pushes take up their places.
  const environment = { ...world.environment, PUSHES_AT_ONCE_MAX: '16' };
  await using stopping = await startStoppingService(service, 'none', environment, stoppingProgram);
  for (const cut of cuts.filter(({ plural }) => (plural === 'batches') === (service === 'batches'))) {
    const { integration, plural, stage, items, autoCreateDDS } = cut;
    await stopping.stopAt(stage);
    const pushed = world.caller(integration).push(plural, items, autoCreateDDS ? { autoCreateDDS } : {});
    // Most have no answer when the process is killed.
    pushed.catch(() => undefined);
    await stopping.reached();
    known.cut.push({ ...cut, since: [] });
  }
}

/** In the end no process lives, and the journals have a push at each stage. */
async function cutPushesOff(making: Making): Promise<void> {
  const catalog = await making.world.startCatalog();
  await cutOff(making, 'batches');
  await catalog[Symbol.asyncDispose]();
  await cutOff(making, 'catalog');
  await overwriteOne(making);
}

/** Another replica changes again what a cut-off push had changed. */
async function overwriteOne({ world, known }: Making): Promise<void> {
  await using _survivor = await world.startCatalog();
  const since = [[supplier(3, { code: 'third' })], [supplier(6, { name: 'Another' }), supplier(0)]];
  for (const items of since) await world.caller(overwritten).push('suppliers', items);
  known.cut.find(({ integration }) => integration === overwritten)?.since.push(...since);
}

const writtenStages = new Set(['before-answer', 'after-events', 'after-publish']);

/** On a slow machine, another replica may have settled a push, or webhooks may have tried once more. */
async function refuseIfTooSlow({ world, known }: Making): Promise<void> {
  const count = (collection: string, filter: object): Promise<number> =>
    world.store.collection(collection).countDocuments(filter);
  const inJournals = async (filter: object): Promise<number> =>
    (await count('catalog_journal', filter)) + (await count('batches_journal', filter));
  const found = {
    writing: await inJournals({ state: 'writing', watched: { $exists: false } }),
    written: await inJournals({ state: 'written', watched: { $exists: false } }),
    overwritten: await inJournals({ evidence: { $exists: true } }),
    onTrial: await count('webhook_endpoints', { failures: 2, 'trials.0.attempts': 2 }),
  };
  const written = known.cut.filter(({ stage }) => writtenStages.has(stage)).length;
  const wanted = { writing: known.cut.length - written, written, overwritten: 1, onTrial: 1 };
  if (JSON.stringify(found) === JSON.stringify(wanted)) return;
  throw new Error(`the machine was too slow, try again: ${JSON.stringify({ found, wanted })}`);
}

async function make(making: Making): Promise<void> {
  const { world, known, receiving } = making;
  await using running = new AsyncDisposableStack();
  running.use(await world.startCatalog());
  running.use(await world.startBatches());
  const webhooks = running.use(
    await startWebhookProcess(
      {
        ...world.environment,
        WEBHOOK_SECRET_KEY: secretKey,
        WEBHOOK_EGRESS_ALLOW: '127.0.0.0/8',
      },
      webhooksProgram,
    ),
  );
  say('records and webhooks …');
  await register(making, 'acme', '/healthy');
  await register(making, 'globex', '/bystander');
  for (const { integration } of cuts) await register(making, integration, `/${integration}`);
  const healthy = webhookOf(making, '/healthy');
  const rotated = await clientOf(world.bus, 'acme').ask('rotate', { id: healthy.id, body: {} });
  healthy.previousSecret = healthy.secret;
  healthy.secret = rotated.body.secret;
  await pushFirst(making);
  say('endpoints that fail until they are disabled …');
  await disableSome(making);
  await leaveSomeWaiting(making);
  await noteWebhooks(making);
  say('webhooks is killed, and pushes go on …');
  await webhooks.kill();
  await pushUnread(making);
  await announced(making);
  for (const integration of ['acme', 'globex', 'initech']) {
    known.listings[integration] = await listingsOf(world.caller(integration));
  }
  await beginWalks(making);
  await running.disposeAsync();
  say('pushes are cut off …');
  await cutPushesOff(making);
  await refuseIfTooSlow(making);
  for (const webhook of Object.values(known.webhooks)) {
    webhook.delivered = receiving.delivered.get(webhook.path) ?? [];
  }
}

const dataFolder = await makeFolder();
await using mongodb = await startEngine('mongodb', { dataFolder, temporary: true, say });
await using world = await openWorld(mongodb.url);
await using receiving = await openReceiving();
const known: Known = {
  madeAt: new Date().toISOString(),
  secretKey,
  pushed: {},
  listings: {},
  walks: [],
  webhooks: {},
  cut: [],
};
await make({ world, known, receiving });
const files = filesOf(version);
await rm(files.folder, { recursive: true, force: true });
await mkdir(files.folder, { recursive: true });
await writeJson(files.known, known);
await dumpMongodb(world.store);
await dumpStreams(world.nats.url);
say(`written to ${files.folder}`);
