// Runs when the storm is over: waits until no push or delivery is open, replays missed deliveries, and writes the end state into the
// ledger, as the public interface shows it and as the engines have it.
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
import { sightingsOf } from '../caller.ts';
import { nameOf } from '../check/facts.ts';
import { keepAll, openCompany, type Customer } from '../customers/customer.ts';
import { clockMs, openLedgerFile, readLedger } from '../ledger.ts';
import { plurals, type EventLine, type Lines } from '../lines.ts';
import { integrationsOf } from '../profile.ts';
import { folder, log, note, noteFailure, takeRole } from '../role.ts';
import { until } from '../until.ts';
import { journals, untilAnnounced, untilDelivered } from '../settling.ts';
import { bodyHashOf } from '../signed.ts';

const ending = new AsyncDisposableStack();
const { plan, store, open } = await openCompany(700, { write: () => undefined });
ending.use(store);
const bus = ending.use(await openBus({ url: plan.nats, name: 'storm', log }));
const customers = new Map(integrationsOf(plan.rules).map((name) => [name, open('collector', name)]));
/** Each endpoint with the path to it and a simulated caller of its integration. */
const endpoints = (await readLedger(folder, 'endpoints')).flatMap((line) => {
  const customer = customers.get(line.integration);
  return customer === undefined ? [] : [{ ...line, customer, path: `/webhook-events/${line.endpoint}` }];
});

/** Reads a listing page by page, by its links. */
async function* walk<Page>(customer: Customer, path: string): AsyncGenerator<Page> {
  for (let at: string | undefined = path; at !== undefined;) {
    const read: { page: Page; next: string | undefined } = await customer.insist(
      { path: at },
      (page: Page, next) => ({ page, next }),
    );
    yield read.page;
    at = read.next;
  }
}

/** Enables disabled webhooks again, and replays what they missed. */
async function replayMissed(): Promise<void> {
  using replays = openLedgerFile(folder, 'replays');
  for (const { endpoint, customer, path } of endpoints) {
    const { active, disabledAt: since } = await customer.insist({ path }, (webhook: Webhook) => webhook);
    if (active) continue;
    await customer.insist({ method: 'PATCH', path, body: { active: true } }, keepAll);
    replays.write({ endpoint, atMs: clockMs() });
    await customer.insist({ method: 'POST', path: `${path}/replay`, body: { since } }, keepAll);
  }
}

type Attempts = Listing<DeliveryAttempt>;

/** Given-up events that were found so far: an attempt log keeps its last entries only, and a replay makes thousands. */
const given = new Set<string>();
const givenUp = openLedgerFile(folder, 'givenUp');

/** Reads from the attempt logs which events failed for the fourth time, as `endpoint event`. */
async function readGivenUp(): Promise<ReadonlySet<string>> {
  for (const { endpoint, customer, path } of endpoints.filter(({ behaviour }) => behaviour !== 'steady')) {
    for await (const { entities } of walk<Attempts>(customer, `${path}/deliveries?limit=100&outcome=failed`))
      for (const { eventId: event, attempt } of entities) {
        const name = nameOf({ endpoint, event });
        if (attempt < attemptDelaysMs.length || given.has(name)) continue;
        given.add(name);
        givenUp.write({ endpoint, event });
      }
  }
  return given;
}

async function collectListings(): Promise<void> {
  using listed = openLedgerFile(folder, 'listed');
  using runs = openLedgerFile(folder, 'runs');
  using drafts = openLedgerFile(folder, 'drafts');
  for (const [integration, customer] of customers) {
    for (const plural of plurals)
      for await (const page of walk<Listing<ListingEntity>>(customer, `/${plural}?limit=100`))
        listed.write({ integration, plural, total: page.total, entities: sightingsOf(page.entities) });
    for await (const { entities } of walk<Listing<SyncRun>>(customer, '/sync-runs?limit=100'))
      for (const run of entities) runs.write({ integration, run });
    for await (const { entities, total } of walk<Listing<DdsEntry>>(customer, '/dds?limit=100'))
      for (const entry of entities) drafts.write({ integration, total, entry });
  }
}

/** How many pages of an attempt log are read: it surely keeps its newest 1,000 entries, and a replay may add many more. */
const newestPages = 20;

async function collectAttempts(): Promise<void> {
  using attempts = openLedgerFile(folder, 'attempts');
  for (const { endpoint, customer, path: of } of endpoints) {
    const path = `${of}/deliveries?limit=100`;
    const readMs = clockMs();
    const newest: DeliveryAttempt[] = [];
    let [total, pages] = [0, 0];
    for await (const page of walk<Attempts>(customer, path)) {
      newest.push(...page.entities);
      total = page.total;
      if ((pages += 1) === newestPages) break;
    }
    const failed = await Array.fromAsync(walk<Attempts>(customer, `${path}&outcome=failed`));
    attempts.write({ endpoint, readMs, newest, total, failed: failed.flatMap(({ entities }) => entities) });
  }
}

type StoredDocument = Omit<Lines['stored'][number], 'plural' | 'internalId'> & { _id: string };

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
      // `ids` has 16 bytes for each record: the hash at the end of its internal id.
      const hashes = Buffer.from(ids?.buffer ?? []).toString('hex').match(/.{32}/g); // oxfmt-ignore
      pending.write({ syncId, hashes: hashes ?? [] });
    }
}

/** Reads the events again if NATS does not answer in time. */
async function readEvents(): Promise<EventLine[]> {
  let lines: EventLine[] | undefined;
  await until(async () => (lines = await storedEvents()) !== undefined, { looksMax: 60 });
  return lines ?? storedEvents();
}

function storedEvents(): Promise<EventLine[]> {
  const all = bus.readStream(eventsStream, { subject: 'events.>', from: { sequence: 1 }, exact: true });
  return Array.fromAsync(all, ({ sequence, id, subject, body, storedAt }) => {
    const text = Buffer.from(body).toString();
    const of = { body: JSON.parse(text), bodyHash: bodyHashOf(text), storedAt: storedAt.toISOString() };
    return { sequence, id, subject, ...of };
  });
}

takeRole(
  {
    async settle() {
      if (!(await untilAnnounced(store, plan.rules.waitsForLateWrites)))
        note('pushes that were cut off were not completed and announced in time');
    },
    async replay() {
      await readGivenUp();
      await replayMissed().catch(noteFailure);
    },
    deliver: () => untilDelivered(folder, bus, readEvents, readGivenUp),
    async collect() {
      await collectListings();
      await collectStored();
      using events = openLedgerFile(folder, 'events');
      for (const line of await readEvents()) events.write(line);
      await collectAttempts();
      await readGivenUp();
    },
  },
  () => ending.disposeAsync(),
);
