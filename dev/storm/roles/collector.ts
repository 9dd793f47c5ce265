// Comes when the storm is over: it waits until nothing moves, replays missed deliveries, and writes down the end state, by the
// interface that callers have and from the engines themselves.
import {
  attemptDelaysMs,
  eventsStream,
  type DdsEntry,
  type DeliveryAttempt,
  type Listing,
  type ListingEntity,
  type SyncRun,
  type Webhook,
} from '@integration-sync/contracts';
import { openBus } from '@integration-sync/runtime/bus';
import { openStore } from '@integration-sync/runtime/store';
import { nextOf, openCaller, sightingsOf, type Caller } from '../caller.ts';
import { clockMs, openLedgerFile, readLedger } from '../ledger.ts';
import { plurals, type EndpointLine, type EventLine, type Item } from '../lines.ts';
import { readPlan } from '../plan.ts';
import { integrationsOf } from '../profile.ts';
import { folder, log, note, takeRole } from '../role.ts';
import { journals, untilAnnounced, untilDelivered } from '../settling.ts';
import { bodyHashOf } from '../signed.ts';

const ending = new AsyncDisposableStack();
const plan = readPlan(folder);
const bus = ending.use(await openBus({ url: plan.nats, name: 'storm', log }));
const store = ending.use(await openStore({ url: plan.mongodb, database: plan.database, log }));
const callers = new Map(integrationsOf(plan.rules).map((name) => [name, openCaller(plan, name)]));

const triesMax = 20;

/** Reads a listing page by page, by its links. */
async function* walk<Page>(caller: Caller, path: string): AsyncGenerator<Page> {
  for (let next: string | undefined = path, tries = 1; next !== undefined;) {
    const answer = await caller.ask({ path: next });
    if (answer.outcome === 200) {
      const page: Page = JSON.parse(answer.body);
      yield page;
      [next, tries] = [nextOf(answer), 1];
    } else if ((tries += 1) > triesMax) {
      throw new Error(`GET ${next} was answered ${answer.outcome} though the storm is over: ${answer.body}`);
    }
  }
}

/** Each endpoint with its path and a caller of its integration. */
async function* allEndpoints(): AsyncGenerator<EndpointLine & { caller: Caller; path: string }> {
  for (const line of await readLedger(folder, 'endpoints')) {
    const caller = callers.get(line.integration);
    if (caller !== undefined) yield { ...line, caller, path: `/webhook-events/${line.endpoint}` };
  }
}

/** Enables disabled webhooks again, and replays what they missed. */
async function replayMissed(): Promise<void> {
  using replays = openLedgerFile(folder, 'replays');
  for await (const { endpoint, caller, path } of allEndpoints()) {
    const webhook: Webhook = JSON.parse((await caller.ask({ path })).body || '{}');
    if (webhook.active) continue;
    const enabled = await caller.ask({ method: 'PATCH', path, body: { active: true } });
    replays.write({ endpoint, atMs: clockMs() });
    const body = { since: webhook.disabledAt };
    const replayed = await caller.ask({ method: 'POST', path: `${path}/replay`, body });
    const isDone = enabled.outcome === 200 && replayed.outcome === 202;
    const did = `enabled: ${enabled.outcome}, replayed: ${replayed.outcome} ${replayed.body}`;
    note(`${endpoint} had been disabled (${webhook.disabledReason}); ${did}`, !isDone);
  }
}

type Attempts = Listing<DeliveryAttempt>;

/** What has been seen in the attempt logs so far: each keeps its last entries only, and a replay makes thousands. */
const given = new Set<string>();

/** By the attempt logs: `endpoint event` of what failed for the fourth time. */
async function readGivenUp(): Promise<ReadonlySet<string>> {
  for await (const { endpoint, behaviour, caller, path } of allEndpoints()) {
    if (behaviour === 'steady') continue;
    for await (const { entities } of walk<Attempts>(caller, `${path}/deliveries?limit=100&outcome=failed`))
      for (const { eventId, attempt } of entities)
        if (attempt >= attemptDelaysMs.length) given.add(`${endpoint} ${eventId}`);
  }
  return given;
}

async function collectListings(integration: string, caller: Caller): Promise<void> {
  using listed = openLedgerFile(folder, 'listed');
  using runs = openLedgerFile(folder, 'runs');
  using drafts = openLedgerFile(folder, 'drafts');
  for (const plural of plurals)
    for await (const { total, entities } of walk<Listing<ListingEntity>>(caller, `/${plural}?limit=100`))
      listed.write({ integration, plural, total, entities: sightingsOf(entities) });
  for await (const { entities } of walk<Listing<SyncRun>>(caller, '/sync-runs?limit=100'))
    for (const run of entities) runs.write({ integration, run });
  for await (const { entities, total } of walk<Listing<DdsEntry>>(caller, '/dds?limit=100'))
    for (const entry of entities) drafts.write({ integration, total, entry });
}

/** How many pages of an attempt log are read: it surely keeps its newest 1,000 entries, and a replay may add many more. */
const newestPages = 20;

async function collectAttempts(): Promise<void> {
  using attempts = openLedgerFile(folder, 'attempts');
  for await (const { endpoint, caller, path: of } of allEndpoints()) {
    const path = `${of}/deliveries?limit=100`;
    const readMs = clockMs();
    const newest: DeliveryAttempt[] = [];
    const failed: DeliveryAttempt[] = [];
    let [total, pages] = [0, 0];
    for await (const page of walk<Attempts>(caller, path)) {
      newest.push(...page.entities);
      total = page.total;
      if ((pages += 1) === newestPages) break;
    }
    for await (const { entities } of walk<Attempts>(caller, `${path}&outcome=failed`))
      failed.push(...entities);
    attempts.write({ endpoint, readMs, newest, total, failed });
  }
}

interface StoredDocument {
  _id: string;
  integration: string;
  externalId: string;
  push: string;
  fields: Item;
}

interface JournalDocument {
  _id: string;
  due?: Date;
  ids?: { buffer: Uint8Array };
}

async function collectStored(): Promise<void> {
  using stored = openLedgerFile(folder, 'stored');
  using pending = openLedgerFile(folder, 'pending');
  for (const plural of plurals)
    for await (const document of store.collection<StoredDocument>(plural).find({})) {
      const { _id: internalId, integration, externalId, push, fields } = document;
      stored.write({ integration, plural, externalId, internalId, push, fields });
    }
  for (const name of journals)
    for await (const { _id: syncId, ids } of store
      .collection<JournalDocument>(name)
      .find({ due: { $exists: true } })) {
      // The hashes of `ids`, 16 bytes each, by which internal ids end.
      const hashes = Buffer.from(ids?.buffer ?? []).toString('hex').match(/.{32}/g); // prettier-ignore
      pending.write({ syncId, hashes: hashes ?? [] });
    }
}

async function readEvents(): Promise<EventLine[]> {
  const lines: EventLine[] = [];
  const all = bus.readStream(eventsStream, { subject: 'events.>', from: { sequence: 1 }, exact: true });
  for await (const { body, storedAt, ...message } of all) {
    const { sequence, id, subject } = message;
    const text = Buffer.from(body).toString();
    const of = { body: JSON.parse(text), bodyHash: bodyHashOf(text), storedAt: storedAt.toISOString() };
    lines.push({ sequence, id, subject, ...of });
  }
  return lines;
}

takeRole(
  {
    async settle() {
      if (!(await untilAnnounced(store, plan.rules.waitsForLateWrites)))
        note('pushes that were cut off were not settled and announced in time');
    },
    async replay() {
      await readGivenUp();
      await replayMissed();
    },
    deliver: () => untilDelivered({ bus, folder, readEvents, readGivenUp }),
    async collect() {
      for (const [integration, caller] of callers) await collectListings(integration, caller);
      await collectStored();
      using events = openLedgerFile(folder, 'events');
      for (const line of await readEvents()) events.write(line);
      await collectAttempts();
      using givenUp = openLedgerFile(folder, 'givenUp');
      for (const name of await readGivenUp()) {
        const [endpoint = '', event = ''] = name.split(' ');
        givenUp.write({ endpoint, event });
      }
    },
  },
  () => ending.disposeAsync(),
);
