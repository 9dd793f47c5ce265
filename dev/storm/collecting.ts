// Reads everything once the storm is over, by the interface that callers have and from the engines themselves, and writes
// it into the ledger.
import type { DdsEntry, DeliveryAttempt, SyncRun } from '@integration-sync/contracts';
import { eventsStream } from '@integration-sync/contracts';
import type { Bus } from '@integration-sync/runtime/bus';
import type { Store } from '@integration-sync/runtime/store';
import { nextOf, type Answer, type Caller } from './caller.ts';
import { clockMs } from './clock.ts';
import { bodyHashOf } from './signed.ts';
import { openLedgerFile } from './ledger.ts';
import { plurals, type EventLine, type Item } from './lines.ts';
import { journals } from './settling.ts';
import { sightingsOf } from './sightings.ts';

const triesMax = 20;

/** Reads a listing page by page, by its links. */
export async function* walk(caller: Caller, path: string): AsyncGenerator<Answer> {
  for (let next: string | undefined = path, tries = 1; next !== undefined;) {
    const answer = await caller.ask({ path: next });
    if (answer.outcome === 200) {
      yield answer;
      [next, tries] = [nextOf(answer), 1];
    } else if ((tries += 1) > triesMax) {
      throw new Error(`GET ${next} was answered ${answer.outcome} though the storm is over: ${answer.body}`);
    }
  }
}

export async function collectListings(folder: string, integration: string, caller: Caller): Promise<void> {
  using listed = openLedgerFile(folder, 'listed');
  using runs = openLedgerFile(folder, 'runs');
  using drafts = openLedgerFile(folder, 'drafts');
  for (const plural of plurals) {
    for await (const { body } of walk(caller, `/${plural}?limit=100`)) {
      const { total }: { total: number } = JSON.parse(body);
      listed.write({ integration, plural, total, entities: sightingsOf(body) });
    }
  }
  for await (const { body } of walk(caller, '/sync-runs?limit=100')) {
    const { entities }: { entities: SyncRun[] } = JSON.parse(body);
    for (const run of entities) runs.write({ integration, run });
  }
  for await (const { body } of walk(caller, '/dds?limit=100')) {
    const { entities, total }: { entities: DdsEntry[]; total: number } = JSON.parse(body);
    for (const entry of entities) drafts.write({ integration, total, entry });
  }
}

/**
 * How many pages of an attempt log are read: it surely keeps its newest 1,000 entries, and a replay may add many more.
 */
const newestPages = 20;

export async function collectAttempts(folder: string, endpoint: string, caller: Caller): Promise<void> {
  using attempts = openLedgerFile(folder, 'attempts');
  const path = `/webhook-events/${endpoint}/deliveries?limit=100`;
  const readMs = clockMs();
  const newest: DeliveryAttempt[] = [];
  const failed: DeliveryAttempt[] = [];
  let total = 0;
  let pages = 0;
  for await (const { body } of walk(caller, path)) {
    const page: { entities: DeliveryAttempt[]; total: number } = JSON.parse(body);
    newest.push(...page.entities);
    total = page.total;
    if ((pages += 1) === newestPages) break;
  }
  for await (const { body } of walk(caller, `${path}&outcome=failed`)) {
    const { entities }: { entities: DeliveryAttempt[] } = JSON.parse(body);
    failed.push(...entities);
  }
  attempts.write({ endpoint, readMs, newest, total, failed });
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

export async function collectStored(folder: string, store: Store): Promise<void> {
  using stored = openLedgerFile(folder, 'stored');
  using pending = openLedgerFile(folder, 'pending');
  for (const plural of plurals) {
    for await (const document of store.collection<StoredDocument>(plural).find({})) {
      const { _id: internalId, integration, externalId, push, fields } = document;
      stored.write({ integration, plural, externalId, internalId, push, fields });
    }
  }
  for (const name of journals) {
    const left = store.collection<JournalDocument>(name).find({ due: { $exists: true } });
    for await (const { _id: syncId, ids } of left) {
      pending.write({ syncId, hashes: hashesOf(ids?.buffer ?? new Uint8Array()) });
    }
  }
}

/** The hashes in a journal entry's `ids`, 16 bytes each, by which internal ids end. */
function hashesOf(packed: Uint8Array): string[] {
  const text = Buffer.from(packed).toString('hex');
  return text.match(/.{32}/g) ?? [];
}

export async function readEvents(bus: Bus): Promise<EventLine[]> {
  const lines: EventLine[] = [];
  const all = bus.readStream(eventsStream, { subject: 'events.>', from: { sequence: 1 }, exact: true });
  for await (const { sequence, id, subject, body, storedAt } of all) {
    const text = Buffer.from(body).toString();
    lines.push({
      sequence,
      id,
      subject,
      body: JSON.parse(text),
      bodyHash: bodyHashOf(text),
      storedAt: storedAt.toISOString(),
    });
  }
  return lines;
}

export async function collectEvents(folder: string, bus: Bus): Promise<void> {
  using events = openLedgerFile(folder, 'events');
  for (const line of await readEvents(bus)) events.write(line);
}
