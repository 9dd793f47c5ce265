// A made-up ledger: what callers, receivers and the service would have written in a storm in which every promise is
// kept. Tests change it, and a check has to find the change.
import type { DeliveryAttempt } from '@integration-sync/contracts';
import { bodyHashOf } from '../../../dev/storm/signed.ts';
import { profiles } from '../../../dev/storm/profile.ts';
import { noLines, type EventLine, type FaultLine, type Item, type Ledger, type Plural, type PushOutcome, type Sighting } from '../../../dev/storm/lines.ts'; // oxfmt-ignore
import type { ViolationClass } from '../../../dev/storm/check/violations.ts';

export const integration = 'storm-a';
const dayMs = Date.parse('2026-03-01T00:00:00.000Z');

export interface ForgedPush {
  name: string;
  plural: Plural;
  items: readonly unknown[];
  /** For each item: `CREATED`, `UPDATED`, or the reason why it is refused. */
  said?: readonly string[];
  outcome?: PushOutcome;
  drafting?: boolean;
  action?: 'erase';
  wrong?: readonly (readonly [number, string])[];
  begunMs?: number;
  endedMs?: number;
}

/** A time of the ledger's clock as an ISO date. */
export const dateOf = (ms: number): string => new Date(dayMs + ms).toISOString();

/** An entry of the attempt log. `nextMs`: when the next attempt is due, if this one failed. */
export function attempt(
  eventId: string,
  { event = 'supplier.created', atMs = 0, number = 1, nextMs = null as number | null, outcome = 'succeeded' as DeliveryAttempt['outcome'] }, // oxfmt-ignore
): DeliveryAttempt {
  const [responseStatus, error] = outcome === 'succeeded' ? [204, null] : [500, 'the receiver answered 500'];
  const nextAttemptAt = nextMs === null ? null : dateOf(nextMs);
  return { eventId, event, attempt: number, at: dateOf(atMs), outcome, responseStatus, durationMs: 0, error, nextAttemptAt }; // oxfmt-ignore
}

const nouns = { suppliers: 'supplier', products: 'product', batches: 'batch' } as const;
const idOf = (plural: Plural, externalId: string): string => `${plural.slice(0, 3)}_of-${externalId}`;
export const syncOf = (push: string): string => `sync_${push}`;

export class Forger {
  readonly ledger: Ledger = {
    ...noLines(),
    within: profiles.cluster.within,
    // The made-up storm has only one to three pushes of each kind.
    floor: { pushes: 0.01, acknowledgedItems: 0.05, events: 0.05, deliveries: 0.05 },
    seconds: 100,
    endpoints: [
      {
        endpoint: 'wh_1',
        integration,
        behaviour: 'steady',
        events: ['supplier.created', 'supplier.updated', 'sync.completed'],
      },
    ],
    attempts: [{ endpoint: 'wh_1', readMs: 500_000, newest: [], total: 0, failed: [] }],
    memory: [{ service: 'catalog', pid: 1, atMs: 0, mb: 100 }],
  };
  #nowMs = 1_000;

  /** Sets the endpoint's attempt log as it stands after the storm. `entries`: oldest first. */
  log(endpoint: string, entries: readonly DeliveryAttempt[]): void {
    const newest = entries.toReversed();
    this.ledger.attempts = this.ledger.attempts.filter((log) => log.endpoint !== endpoint);
    const failed = newest.filter(({ outcome }) => outcome === 'failed');
    this.ledger.attempts.push({ endpoint, readMs: 500_000, newest, total: newest.length, failed });
  }

  push(forged: ForgedPush): void {
    const { name, plural, items, said = [], outcome = 200, drafting = false, wrong = [], action } = forged;
    const { begunMs = (this.#nowMs += 10), endedMs = (this.#nowMs += 10) } = forged;
    const begunAt = new Date(dayMs + begunMs).toISOString();
    this.ledger.begun.push(
      { push: name, lane: name.slice(0, 1), integration, plural, items, drafting, action, wrong, gateway: 0, begunMs, begunAt },
    ); // oxfmt-ignore
    if (outcome !== 200) {
      const retry = outcome === 503 ? { retryAfter: '1' } : {};
      this.ledger.ended.push({ push: name, endedMs, outcome, ...retry });
      return;
    }
    const records = said.map((status, place) => {
      const { externalId = '' } = items[place] as { externalId?: string };
      return status === 'CREATED' || status === 'UPDATED'
        ? { externalId, internalId: idOf(plural, externalId), status } as const
        : { externalId, internalId: '', status: 'ERROR' } as const;
    }); // oxfmt-ignore
    const errors = records.flatMap(({ externalId, status }, place) =>
      status === 'ERROR' ? [{ externalId, error: said[place] ?? '' }] : [],
    );
    const count = (status: string): number => records.filter((record) => record.status === status).length;
    const [created, updated, failed] = [count('CREATED'), count('UPDATED'), errors.length];
    const answer = { success: failed === 0, created, updated, errors, records };
    const dds = plural === 'batches' ? { ddsCreated: [] } : {};
    this.ledger.ended.push({
      push: name,
      endedMs,
      outcome,
      syncId: syncOf(name),
      answer: { ...answer, ...dds },
    });
    const counts = { syncId: syncOf(name), entityType: nouns[plural], created, updated, failed };
    const times = { startedAt: begunAt, completedAt: begunAt };
    this.ledger.runs.push({
      integration,
      run: { ...counts, action: 'push', unchanged: 0, state: 'completed', client: null, ...times },
    });
    this.announce('sync.completed', `${syncOf(name)}-completed`, { ...counts, ...times });
  }

  created(push: string, plural: Plural, externalId: string): void {
    const data = { externalId, internalId: idOf(plural, externalId) };
    this.announce(`${nouns[plural]}.created`, `${syncOf(push)}-created-${externalId}`, data);
  }

  updated(push: string, plural: Plural, externalId: string, changedFields: readonly string[]): void {
    const data = { externalId, internalId: idOf(plural, externalId), changedFields };
    this.announce(`${nouns[plural]}.updated`, `${syncOf(push)}-updated-${externalId}`, data);
  }

  /** Puts an event on the stream, and delivers it if the endpoint subscribes to it. */
  announce(event: string, id: string, data: object): void {
    const push = this.ledger.begun.find((line) => id.startsWith(`${syncOf(line.push)}-`));
    const timestamp = push?.begunAt ?? dateOf(0);
    const body = { event, timestamp, integrationId: integration, data } as EventLine['body'];
    const bodyHash = bodyHashOf(JSON.stringify(body));
    // This forger announces `sync.completed` before the other events of its push, but it stands after them on the
    // stream.
    const sequence = this.ledger.events.length + (event === 'sync.completed' ? 1_000 : 1);
    const subject = `events.${integration}.${event}`;
    this.ledger.events.push({ sequence, id, subject, body, bodyHash, storedAt: timestamp });
    const { ids } = Object(this.ledger.asks.findLast(({ by }) => by === 'whole')?.answer) as {
      ids?: string[];
    };
    ids?.push(id);
    if (this.ledger.endpoints[0]?.events.includes(event) !== true) return;
    const before = this.ledger.attempts[0]?.newest ?? [];
    this.log('wh_1', [...before.toReversed(), attempt(id, { event })]);
    this.ledger.deliveries.push(
      { endpoint: 'wh_1', path: '/1', event: id, kind: event, begunMs: 0, atMs: 0, status: 204, genuine: true, signer: 0, bodyHash },
    ); // oxfmt-ignore
  }

  /** A killed process, or one that stood still until `untilMs`. */
  strike(target: FaultLine['target'], atMs: number, untilMs = atMs, more: Partial<FaultLine> = {}): void {
    const kind = untilMs > atMs ? 'stop' : 'kill';
    this.ledger.faults.push({ target, kind, pid: 1, atMs, untilMs, ...more });
  }

  /** Puts a record into the listing after the storm and into the database. */
  keep(plural: Plural, externalId: string, fields: Item): void {
    const internalId = idOf(plural, externalId);
    const shown: Sighting = [
      externalId,
      String(fields['name'] ?? fields['batchNumber']),
      internalId,
      new Date(dayMs + 100_000).toISOString(),
    ];
    this.ledger.listed.push({ integration, plural, total: 1, entities: [shown] });
    for (const line of this.ledger.listed.filter((one) => one.plural === plural)) {
      line.total = this.ledger.listed.filter((one) => one.plural === plural).length;
    }
    this.ledger.stored.push({ integration, plural, externalId, internalId, push: '', fields });
  }

  read(plural: Plural, externalId: string, name: string, begunMs: number, poll: number | null = null): void {
    const entities: Sighting[] = [[externalId, name, idOf(plural, externalId), '']];
    const endedMs = begunMs + 1;
    this.ledger.pages.push({
      reader: 'r',
      poll,
      integration,
      plural,
      begunMs,
      endedMs,
      isLast: true,
      entities,
    });
  }

  /** Adds a poll after all pushes, which shows every listed record. */
  pollAll(plural: Plural): void {
    const entities = this.ledger.listed
      .filter((line) => line.plural === plural)
      .flatMap((line) => line.entities);
    this.ledger.pages.push(
      { reader: 'r', poll: 9, integration, plural, begunMs: 90_000, endedMs: 90_001, isLast: true, entities },
    ); // oxfmt-ignore
  }
}

/** Changes of the story by what has changed. */
export type Changes = Readonly<Record<string, (forger: Forger) => unknown>>;

/** Changes that a check must find, by the class of the violation. */
export type Forgeries = Readonly<Partial<Record<ViolationClass, Changes>>>;
