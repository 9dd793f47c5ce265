// This release serves what the release before has left behind. The data set is that of a stack whose
// processes were killed in the middle of their work: webhooks first, while pushes went on, then catalog and
// batches, in the middle of pushes (test/upgrade/make-data.ts). The tests build on each other, in their
// order.
import { createHmac } from 'node:crypto';
import type { ListingEntity } from '@integration-sync/contracts';
import { readConfig } from '@integration-sync/runtime/config';
import { openLog } from '@integration-sync/runtime/log';
import { startWebhooks } from '@integration-sync/webhooks';
import { WebhooksConfig } from '@integration-sync/webhooks/config';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { anHourAhead, settledWithinMs } from '../support/left-behind.ts';
import { openReceiver, type Hit, type Receiver } from '../support/receiver.ts';
import { openWorld, type Caller, type Plural, type SeenEvent, type World } from '../support/sync.ts';
import { clientOf, type AnswerBody, type Asking } from '../support/webhooks.ts';
import {
  type CutPush,
  type Item,
  type Known,
  type KnownWebhook,
  type StoredMessage,
} from '../upgrade/data-set.ts';
import { readKnown, readMessages, restore } from '../upgrade/restore.ts';

const closing = new AsyncDisposableStack();
const givable = new Set(['hsCode', 'countryOfProduction', 'quantity', 'unit', 'referenceNumber']);
/** A run of a release that names no client. */
const unnamed = (run: object): object => ({ ...run, client: null });

let world: World;
let receiver: Receiver;
let known: Known;

const askWebhooks = async (integration: string, verb: string, asking: Asking): Promise<AnswerBody> =>
  (await clientOf(world.bus, integration).ask(verb, asking)).body;

beforeAll(async () => {
  known = await readKnown();
  world = closing.use(await openWorld(inject('engines').mongodb));
  receiver = closing.use(await openReceiver());
  await restore({ store: world.store, natsUrl: world.nats.url, receiverPort: receiver.port });
  await world.startCatalog();
  await world.startBatches();
  const environment = {
    ...world.environment,
    WEBHOOK_SECRET_KEY: known.secretKey,
    WEBHOOK_EGRESS_ALLOW: '127.0.0.0/8',
  };
  const log = openLog({ service: 'webhooks', level: 'silent' });
  closing.use(await startWebhooks(readConfig(WebhooksConfig, environment), { log }));
});
afterAll(() => closing.disposeAsync());

const plurals = ['suppliers', 'products', 'batches'] as const;
const entityTypes = { suppliers: 'supplier', products: 'product', batches: 'batch' } as const;

const webhookAt = (path: string): KnownWebhook => {
  const found = known.webhooks[path.slice(1)];
  if (found === undefined) throw new Error(`the data set has no webhook ${path}`);
  return found;
};
const hitsOn = (path: string): Hit[] => receiver.hits.filter((hit) => hit.path === path);
const idOf = ({ headers }: Hit): string => headers['webhook-id'] ?? '';
const sortedIds = (hits: readonly Hit[]): string[] => hits.map(idOf).toSorted();
const messageId = ({ headers }: StoredMessage): string => headers['Nats-Msg-Id'] ?? '';

/** The ids of the suppliers that were created since the event that the webhook failed to take first. */
async function createdSinceFailing({ attempts }: KnownWebhook): Promise<string[]> {
  const failed = new Set(attempts.map(({ eventId }) => eventId));
  const created = (await readMessages('EVENTS')).filter(
    ({ subject }) => subject === 'events.acme.supplier.created',
  );
  return created.slice(created.findIndex((message) => failed.has(messageId(message)))).map(messageId);
}

/** The ids of events that four attempts failed to deliver. */
function givenUp({ attempts }: KnownWebhook): Set<string> {
  return new Set(attempts.filter(({ attempt }) => attempt === 4).map(({ eventId }) => eventId));
}

/** The last accepted item of each pushed externalId. */
function lastPushed(integration: string, plural: Plural): Map<string, Item> {
  const pushes = known.pushed[integration] ?? [];
  const items = pushes.filter((one) => one.plural === plural).flatMap((one) => one.items);
  return new Map(items.filter(({ name }) => name !== '').map((item) => [item.externalId, item]));
}

/** The records as a caller would push them again. */
async function itemsOf(caller: Caller, plural: Plural): Promise<Item[]> {
  const entities: (ListingEntity & { details?: { fields: object } })[] = await caller.listAll(
    plural,
    'limit=100&details=true',
  );
  return entities.map(({ externalId, details }) => Object.assign({ externalId }, details?.fields));
}

const namesOf = (entities: readonly ListingEntity[]): string[] =>
  entities.map(({ externalId }) => externalId);

const ofKind = (events: readonly SeenEvent[], kind: string) =>
  events.flatMap(({ body }) =>
    body.event === kind && 'externalId' in body.data
      ? [
          {
            externalId: body.data.externalId,
            internalId: body.data.internalId,
            changed: 'changedFields' in body.data ? body.data.changedFields.join() : '',
          },
        ]
      : [],
  );

describe('after an upgrade from the release before', () => {
  it('lists all records, statements and pushes unchanged', async () => {
    const integrations = Object.entries(known.listings);
    expect(integrations.map(([integration]) => integration)).toEqual(['acme', 'globex', 'initech']);
    for (const [integration, listed] of integrations) {
      const caller = world.caller(integration);
      for (const plural of plurals) {
        expect(await caller.listAll(plural)).toEqual(listed[plural]);
        expect(await caller.list(plural)).toMatchObject({ total: listed[plural].length });
        const items = lastPushed(integration, plural);
        const stored = new Map((await itemsOf(caller, plural)).map((item) => [item.externalId, item]));
        expect(stored).toEqual(items);
      }
      // A statement no longer names as missing what no push can give.
      expect((await caller.dds('limit=100')).entities).toEqual(
        listed.dds.map((entry) => ({ ...entry, missing: entry.missing.filter((name) => givable.has(name)) })),
      );
      const { entities: runs } = await caller.runs('limit=100');
      expect(runs).toEqual(listed.runs.map((run) => unnamed(run)));
      for (const { syncId, failed } of runs.slice(0, 3)) {
        const { errors, errorsOmitted } = await caller.run(syncId);
        expect(errors.length + errorsOmitted).toBe(failed);
      }
    }
  });

  it('shows all records to a mirror that asks for changes from their beginning', async () => {
    for (const [integration, listed] of Object.entries(known.listings)) {
      const caller = world.caller(integration);
      for (const plural of plurals) {
        // The first walk meets records that have no time of change, a later one finds them dated.
        for (let walk = 0; walk < 3; walk += 1) {
          expect(await caller.listAll(plural, 'changedSince=1970-01-01&limit=100')).toEqual(listed[plural]);
        }
      }
    }
  });

  it('continues walks through listings that began before the upgrade', async () => {
    const caller = world.caller('acme');
    expect(known.walks).toHaveLength(3);
    for (const { plural, next, rest } of known.walks) {
      expect(rest.length).toBeGreaterThan(0);
      expect(namesOf(await caller.listAll(plural, next))).toEqual(rest);
    }
  });

  it('delivers each event that the release before had not delivered, and no delivered event again', async () => {
    const { path, delivered } = webhookAt('/healthy');
    const before = new Set(delivered);
    const undelivered = (await readMessages('EVENTS'))
      .filter(({ subject }) => subject.startsWith('events.acme.'))
      .map(messageId)
      .filter((id) => !before.has(id));
    expect(undelivered.length).toBeGreaterThan(10);
    await receiver.received(undelivered.length, {
      withinMs: settledWithinMs,
      where: (hit) => hit.path === path,
    });
    expect(sortedIds(hitsOn(path))).toEqual(undelivered.toSorted());
  });

  it('continues the retries of a failing webhook where the release before stopped', async () => {
    const failing = webhookAt('/failing');
    const expected = await createdSinceFailing(failing);
    expect(expected.length).toBeGreaterThan(4);
    await receiver.received(expected.length, {
      withinMs: settledWithinMs,
      where: ({ path }) => path === failing.path,
    });
    expect(sortedIds(hitsOn(failing.path))).toEqual(expected.toSorted());
    const asked = { id: failing.id, query: 'limit=100&event=supplier.created' };
    const { entities } = await eventually(
      () => askWebhooks('acme', 'deliveries', asked),
      (log) => log.entities.length >= expected.length + failing.attempts.length,
    );
    const ofTrial = entities.filter(({ eventId }: { eventId: string }) => eventId === expected[0]);
    expect(ofTrial.map(({ attempt }: { attempt: number }) => attempt)).toEqual([3, 2, 1]);
  });

  const reasons = { '/gone': 'gone', '/manual': 'manual', '/dead': 'failures' };

  it('leaves disabled webhooks disabled', async () => {
    for (const [path, disabledReason] of Object.entries(reasons)) {
      const { id, shown, attempts } = webhookAt(path);
      const before = await askWebhooks('acme', 'get', { id });
      expect(before).toMatchObject({ ...shown, active: false, disabledReason });
      expect(hitsOn(path)).toEqual([]);
      const log = await askWebhooks('acme', 'deliveries', { id, query: 'limit=100' });
      expect(log.entities).toEqual(attempts);
      expect(attempts.length).toBeGreaterThan(0);
    }
  });

  it('replays the events since the disabling once a webhook is enabled', async () => {
    for (const path of Object.keys(reasons)) {
      const webhook = webhookAt(path);
      const { id, shown } = webhook;
      const before = hitsOn(path).length;
      const since = shown?.disabledAt ?? '';
      const lost = givenUp(webhook);
      const expected = (await createdSinceFailing(webhook)).filter((one) => !lost.has(one));
      await askWebhooks('acme', 'change', { id, body: { active: true } });
      const { queued } = await askWebhooks('acme', 'replay', { id, body: { since } });
      expect(queued).toBe(expected.length);
      await receiver.received(before + queued, { where: (hit) => hit.path === path });
      expect(sortedIds(hitsOn(path).slice(before))).toEqual(expected.toSorted());
    }
  });

  it('completes interrupted pushes, and announces each record once', async () => {
    expect(known.cut.map(({ stage, plural }) => `${plural} ${stage}`)).toEqual(
      expect.arrayContaining([
        'batches amid-writes',
        'batches after-writes',
        'suppliers after-entry',
        'suppliers amid-writes',
        'suppliers after-writes',
        'suppliers before-answer',
        'suppliers after-publish',
      ]),
    );
    await Promise.all(
      known.cut.map((cut) =>
        expectSettled(cut).catch((error: unknown) => {
          throw new Error(`${cut.integration} is not settled`, { cause: error });
        }),
      ),
    );
  });

  it('knows the records of an interrupted push when the caller of the push pushes again', async () => {
    // Without a later push, its caller got no answer.
    await Promise.all(known.cut.filter(({ since }) => since.length === 0).map(expectKnownAgain));
  });

  it('signs deliveries with the secrets from before the upgrade', () => {
    const verified = receiver.hits.map(({ path, headers, body }) => {
      const { secret, previousSecret } = webhookAt(path);
      for (const one of [secret, ...(previousSecret === undefined ? [] : [previousSecret])]) {
        new Webhook(one).verify(body, headers);
      }
      expect(headers['x-webhook-signature']).toBe(createHmac('sha256', secret).update(body).digest('hex'));
      return path;
    });
    expect(webhookAt('/healthy').previousSecret).toBeDefined();
    expect(verified).toContain('/healthy');
  });

  it('finds no change in records that are pushed again', async () => {
    const caller = world.caller('acme');
    const before = await caller.events();
    for (const plural of plurals) {
      const items = [...lastPushed('acme', plural).values()];
      const idByName = new Map(
        known.listings['acme']?.[plural].map(({ externalId, internalId }) => [externalId, internalId]),
      );
      expect(await caller.plan(plural, items)).toMatchObject({ created: 0, unchanged: items.length });
      const { created, records } = await caller.push(plural, items);
      expect(created).toBe(0);
      expect(records).toEqual(
        items.map(({ externalId }) => ({
          externalId,
          internalId: idByName.get(externalId),
          status: 'UPDATED',
        })),
      );
      expect(await caller.list(plural)).toMatchObject({ total: items.length });
    }
    const after = await eventually(
      () => caller.events(),
      (events) => events.length >= before.length + plurals.length,
    );
    const since = after.slice(before.length).map(({ body }) => body.event);
    expect(since).toEqual(plurals.map(() => 'sync.completed'));
  });

  it('announces nothing more when interrupted pushes are checked for the second time', async () => {
    const integrations = [...new Set(known.cut.map(({ integration }) => integration))];
    const countEvents = async (): Promise<number[]> =>
      Promise.all(integrations.map(async (name) => (await world.caller(name).events()).length));
    const before = await countEvents();
    await world.startCatalog({ now: anHourAhead });
    await world.startBatches({ now: anHourAhead });
    for (const service of ['catalog', 'batches']) {
      await eventually(
        () => world.store.collection(`${service}_journal`).countDocuments({ due: { $exists: true } }),
        (count) => count === 0,
        settledWithinMs,
      );
    }
    expect(await countEvents()).toEqual(before);
  });

  it('leaves the records, runs, events and webhook of an integration without an interrupted push unchanged', async () => {
    const { id, path, shown } = webhookAt('/bystander');
    const caller = world.caller('globex');
    const then = (await readMessages('EVENTS')).filter(({ subject }) => subject.startsWith('events.globex.'));
    expect((await caller.events()).map((event) => event.id)).toEqual(then.map(messageId));
    expect(hitsOn(path)).toEqual([]);
    expect(await askWebhooks('globex', 'get', { id })).toMatchObject({ ...shown });
    const { entities: runs } = await caller.runs('limit=100');
    expect(runs).toEqual(known.listings['globex']?.runs.map((run) => unnamed(run)));
    for (const plural of plurals) {
      expect(await caller.listAll(plural)).toEqual(known.listings['globex']?.[plural]);
    }
  });
});

const countCompleted = (events: readonly SeenEvent[]): number =>
  events.filter(({ body }) => body.event === 'sync.completed').length;

async function expectSettled(cut: CutPush): Promise<void> {
  const { integration, plural, stage, since } = cut;
  const caller = world.caller(integration);
  const kind = entityTypes[plural];
  const pushes = (known.pushed[integration] ?? []).length + since.length + (stage === 'after-entry' ? 0 : 1);
  const events = await eventually(
    () => caller.events(),
    (all) => countCompleted(all) >= pushes,
    settledWithinMs,
  );
  const { entities: runs } = await eventually(
    () => caller.runs('limit=100'),
    ({ entities }) => entities.every(({ state }) => state === 'completed'),
    settledWithinMs,
  );
  expect(runs).toHaveLength(pushes);
  expect(new Set(events.map(({ id }) => id)).size).toBe(events.length);

  const records = await caller.listAll(plural);
  const items = await itemsOf(caller, plural);
  expect(await caller.list(plural)).toMatchObject({ total: records.length });
  const created = ofKind(events, `${kind}.created`);
  expect(created.map(({ internalId }) => internalId).toSorted()).toEqual(
    records.map(({ internalId }) => internalId).toSorted(),
  );
  const updated = ofKind(events, `${kind}.updated`).map(
    ({ externalId, changed }) => `${externalId} ${changed}`,
  );
  expect(updated.toSorted()).toEqual(changesIn(cut, items));
  await expectDelivered(cut, events);
}

async function expectKnownAgain({ integration, plural, items, autoCreateDDS }: CutPush): Promise<void> {
  const caller = world.caller(integration);
  const { total: records } = await caller.list(plural);
  const completed = countCompleted(await caller.events());
  const valid = items.filter(({ externalId }) => externalId !== 'wrong').length;
  const again = await caller.push(plural, items, autoCreateDDS ? { autoCreateDDS } : {});
  expect(again).toMatchObject({ created: valid - records, updated: records });
  const settled = await eventually(
    () => caller.events(),
    (all) => countCompleted(all) > completed,
  );
  expect(ofKind(settled, `${entityTypes[plural]}.created`)).toHaveLength(valid);
  expect(await caller.list(plural)).toMatchObject({ total: valid });
  if (!autoCreateDDS) return;
  const { entities: statements } = await caller.dds('limit=100');
  expect(statements).toHaveLength(valid);
  const drafted = settled.flatMap(({ body }) =>
    body.event === 'dds.created' && 'ddsId' in body.data ? [body.data.ddsId] : [],
  );
  expect(drafted.toSorted()).toEqual(statements.map(({ ddsId }) => ddsId).toSorted());
}

/** The records tell what a push changed; where another push has changed it since, the two pushes tell it. */
function changesIn({ integration, plural, since }: CutPush, items: readonly Item[]): string[] {
  if (since.length > 0) return ['S-003 code', 'S-003 code', 'S-004 code', 'S-005 code', 'S-006 name'];
  const [field, changed] = plural === 'batches' ? (['quantity', 1] as const) : (['code', 'second'] as const);
  const found = items.filter((item) => item[field] === changed);
  if (!integration.endsWith('amid-writes')) {
    expect(found).toHaveLength(integration.endsWith('after-entry') ? 0 : plural === 'batches' ? 1 : 3);
  }
  return found.map(({ externalId }) => `${externalId} ${field}`).toSorted();
}

/** Each event goes out once: by the release before, or by this one. */
async function expectDelivered({ integration }: CutPush, events: readonly SeenEvent[]): Promise<void> {
  const { path, delivered } = webhookAt(`/${integration}`);
  const before = new Set(delivered);
  const announced = events.flatMap(({ id }) => (before.has(id) ? [] : [id]));
  const there = await eventually(
    () => hitsOn(path),
    (hits) => announced.every((id) => hits.some((hit) => idOf(hit) === id)),
    settledWithinMs,
  );
  expect(sortedIds(there)).toEqual(announced.toSorted());
}
