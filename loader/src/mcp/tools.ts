// The six tools of an agent. No tool can write, because tools get only the reading calls of the client.
import type { Client, EventKind, Kind, PlanOptions, PushOutcome, RunQuery } from '@integration-sync/client';
import type { JsonSchemaType } from '@modelcontextprotocol/server';
import { Stop } from '../core/exit.ts';
import { kinds } from '../core/kinds.ts';
import type { Item } from '../core/mapping/items.ts';
import { planUnchecked } from '../core/sending/push.ts';
import type { Entry, Found } from './tool-answer.ts';
import { lookAtWebhook, lookAtWebhooks } from './webhooks.ts';

/** The calls of the client that tools may make. */
export type Reading = Pick<Client, 'plan' | 'pages' | 'runs' | 'run' | 'poll'> & {
  webhooks: Pick<Client['webhooks'], 'list' | 'get' | 'deliveries' | 'delivery'>;
};

export interface Tool<Args> {
  name: string;
  title: string;
  description: string;
  /** The JSON Schemas of the tool's arguments. */
  properties: Readonly<Record<string, JsonSchemaType>>;
  required: readonly string[];
  find(args: Args, client: Reading): Promise<Found>;
}

const itemsMax = 500;
const bodyBytesMax = 4 * 1024 * 1024;

const kind = { type: 'string', enum: [...kinds] };
const time = (description: string) => ({
  type: 'string',
  description: `${description}, as 2026-01-31T08:00:00Z`,
});
const ids = (minItems: number, maxItems: number, description: string) => ({
  type: 'array',
  items: { type: 'string', maxLength: 1_000 },
  minItems,
  maxItems,
  description,
});

async function* each<One extends Entry>(items: readonly One[]): AsyncGenerator<One, void, undefined> {
  yield* items;
}

export const findRecords: Tool<{ kind: Kind; externalIds?: string[]; changedSince?: string }> = {
  name: 'find_records',
  title: 'Find records',
  description:
    'Shows suppliers, products or batches as the service has them: fields, status, internal id, when they changed. ' +
    'By externalIds, by a time since which they changed, or all in order of creation. An id that is not there is absent.',
  properties: {
    kind,
    externalIds: ids(1, 100, 'Only the records with these ids'),
    changedSince: time('Only records that changed after this time'),
  },
  required: ['kind'],
  async find({ kind: of, externalIds, changedSince }, client) {
    const query = { externalId: externalIds, changedSince, details: true, limit: 50 };
    const pages = client.pages<Kind>(of, query);
    const { value: first } = await pages.next();
    const { entities = [], total = 0 } = first ?? {};
    async function* entries(): AsyncGenerator<Entry, void, undefined> {
      yield* entities;
      for await (const page of pages) yield* page.entities;
    }
    return { head: { total }, entries: entries() };
  },
};

export const listRuns: Tool<Omit<RunQuery, 'failed'> & { failed?: boolean }> = {
  name: 'list_runs',
  title: 'List sync runs',
  description:
    'Lists the pushes, archivings and erasures of the last seven days, newest first, with their counts. explain_run says why ' +
    'items of one failed.',
  properties: {
    entityType: { type: 'string', enum: ['supplier', 'product', 'batch'] },
    since: time('Only runs that started after this time'),
    failed: { type: 'boolean', description: 'True: only runs of which an item failed' },
  },
  required: [],
  find: async ({ entityType, since, failed }, client) => ({
    entries: client.runs({ entityType, since, failed: failed === true || undefined }),
  }),
};

export const explainRun: Tool<{ syncId: string }> = {
  name: 'explain_run',
  title: 'Explain a run',
  description: 'Shows one run, and for each of its first 100 failed items the index, the id and the reason.',
  properties: { syncId: { type: 'string', minLength: 1, maxLength: 200 } },
  required: ['syncId'],
  async find({ syncId }, client) {
    const { errors, ...run } = await client.run(syncId);
    return { head: { run }, entries: each(errors) };
  },
};

type Planning = { kind: Kind; items: Item[] } & Pick<PlanOptions, 'assume' | 'autoCreateDDS'>;

export const planPush: Tool<Planning> = {
  name: 'plan_push',
  title: 'Plan a push',
  description:
    `Says what a push of up to ${itemsMax} items would create, update, leave unchanged and refuse, and why. It writes nothing: ` +
    'only a person or their program can push.',
  properties: {
    kind,
    items: {
      type: 'array',
      items: { type: 'object' },
      maxItems: itemsMax,
      description: 'Items as a push has them, each with its externalId',
    },
    assume: ids(0, itemsMax, 'Ids of referenced records that count as existing'),
    autoCreateDDS: { type: 'boolean', description: 'For batches: whether statements would be drafted' },
  },
  required: ['kind', 'items'],
  async find({ kind: of, items, assume, autoCreateDDS }, client) {
    const bytes = Buffer.byteLength(JSON.stringify(items));
    if (bytes > bodyBytesMax)
      throw new Stop(`The items have ${bytes} bytes, and a plan takes ${bodyBytesMax}: plan them in parts.`);
    // An agent may fill in each argument, also for kinds of which the service knows no statements.
    const options = of === 'batches' ? { assume, autoCreateDDS } : { assume };
    const outcome = await planUnchecked(client, of, items, options);
    const { created, updated, unchanged, errors } = outcome;
    return {
      head: { wouldCreate: created, wouldUpdate: updated, unchanged, wouldFail: errors.length },
      entries: each(worstFirst(outcome)),
    };
  },
};

const worst = ['failed', 'updated', 'created', 'unchanged'];

const worstFirst = ({ details, records }: PushOutcome): object[] =>
  details
    .map((detail) => ({ externalId: records[detail.index]?.externalId, ...detail }))
    .toSorted((one, other) => worst.indexOf(one.action) - worst.indexOf(other.action));

export const checkWebhooks: Tool<{ webhookId?: string }> = {
  name: 'check_webhooks',
  title: 'Check webhooks',
  description:
    'Lists the webhooks, those in trouble first: disabled, or failing. Of one webhook it shows the failed attempts of the last ' +
    'seven days, newest first, with what the receiver answered.',
  properties: {
    webhookId: {
      type: 'string',
      minLength: 1,
      maxLength: 200,
      description: 'Only this one, with its attempts',
    },
  },
  required: [],
  find: async ({ webhookId }, { webhooks }) =>
    webhookId === undefined
      ? { entries: each(await lookAtWebhooks(webhooks)) }
      : { head: { webhook: await webhooks.get(webhookId) }, entries: lookAtWebhook(webhooks, webhookId) },
};

export const listEvents: Tool<{ since?: string; after?: string; kinds?: EventKind[] }> = {
  name: 'list_events',
  title: 'List events',
  description:
    'Lists what happened, oldest first: records created, updated, archived, runs completed, webhooks disabled. Begin with since; ' +
    'the answer to the last call has next, with which after goes on later. Events are kept for seven days.',
  properties: {
    since: time('Only events after this time'),
    after: {
      type: 'string',
      maxLength: 1_000,
      description: 'The next of an earlier answer, in place of since',
    },
    kinds: ids(1, 50, 'Only these kinds, such as supplier.updated or sync.completed'),
  },
  required: [],
  async find({ since, after, kinds: events }, client) {
    if ((since === undefined) === (after === undefined))
      throw new Stop('Say either since (a time) or after (the next of an earlier answer).');
    let reached: string | undefined;
    async function* entries(): AsyncGenerator<Entry, void, undefined> {
      for await (const page of client.poll('events', { since, after, events })) {
        yield* page.entities;
        reached = page.next;
        // After each page the caller can stop, because this page and many further pages may have no matching entries.
        yield undefined;
      }
    }
    return { entries: entries(), tail: () => ({ next: reached }) };
  },
};
