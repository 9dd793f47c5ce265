// Catalog and batches in this process, on a database and a NATS of the test file's own, and callers that speak
// to them as the gateway does.
import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { startBatches } from '@integration-sync/batches';
import { BatchesConfig } from '@integration-sync/batches/config';
import { startCatalog } from '@integration-sync/catalog';
import { CatalogConfig } from '@integration-sync/catalog/config';
import {
  Failure,
  readEventBatch,
  storedBatches,
  requestHeaders,
  type ArchiveAnswer,
  type BatchPushAnswer,
  type DdsEntry,
  type EraseAnswer,
  type Expectations,
  type EventBody,
  type ItemDetails,
  type Listing,
  type ListingEntity,
  type SyncRun,
  type SyncRunInFull,
} from '@integration-sync/contracts';
import type { Engine } from '@integration-sync/dev/engines';
import type { Bus, RequestOptions } from '@integration-sync/runtime/bus';
import { readConfig } from '@integration-sync/runtime/config';
import { openLog } from '@integration-sync/runtime/log';
import { openStore, type Store } from '@integration-sync/runtime/store';
import type { RecordService, RecordServiceDeps } from '@integration-sync/sync';
import { openTestBus, text } from './bus.ts';
import { startNats } from './nats.ts';

export interface World extends AsyncDisposable {
  readonly nats: Engine;
  readonly bus: Bus;
  readonly store: Store;
  /** The settings of a service's process. */
  readonly environment: Record<string, string>;
  /** Starts catalog; `settings` differ from `environment`, such as the address of a proxy. */
  startCatalog(deps?: RecordServiceDeps, settings?: Record<string, string>): Promise<RecordService>;
  startBatches(deps?: RecordServiceDeps): Promise<RecordService>;
  /**
   * Opens a caller of a new integration, unless one is given. A request whose `signal` aborts fails with the signal's
   * reason.
   */
  caller(integration?: string, timeoutMs?: number, signal?: AbortSignal): Caller;
}

const silent = openLog({ service: 'test', level: 'silent' });

/** Starts the engines; the test starts the services. */
export async function openWorld(mongodb: string): Promise<World> {
  await using opening = new AsyncDisposableStack();
  const nats = opening.use(await startNats());
  const bus = opening.use(await openTestBus(nats.url));
  const database = `test_${randomUUID().replaceAll('-', '')}`;
  const store = opening.use(await openStore({ url: mongodb, database, log: silent }));
  opening.defer(async () => {
    await store.database.dropDatabase().catch(() => undefined);
  });
  const environment = {
    NATS_URL: nats.url,
    MONGODB_URL: mongodb,
    MONGODB_DATABASE: database,
    LOG_LEVEL: 'silent',
  };
  const services = opening.use(new AsyncDisposableStack());
  const open = opening.move();
  return {
    nats,
    bus,
    store,
    environment,
    async startCatalog(deps = {}, settings = {}) {
      const config = readConfig(CatalogConfig, { ...environment, ...settings });
      return services.use(await startCatalog(config, { log: silent, ...deps }));
    },
    async startBatches(deps = {}) {
      return services.use(
        await startBatches(readConfig(BatchesConfig, environment), { log: silent, ...deps }),
      );
    },
    caller: (integration = `i-${randomUUID()}`, timeoutMs = 30_000, signal?: AbortSignal) =>
      openCaller(bus, integration, { timeoutMs, ...(signal === undefined ? {} : { signal }) }),
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

export type Plural = 'suppliers' | 'products' | 'batches';

interface Synced {
  syncId: string;
}

export interface Pushed extends Omit<BatchPushAnswer, 'ddsCreated'> {
  syncId: string;
  ddsCreated?: DdsEntry[];
}

export interface Planned extends Omit<Pushed, 'syncId'> {
  unchanged: number;
  details: ItemDetails[];
}

/** What a request has beside its body. */
export interface Manner {
  query?: string;
  /** `Prefer: handling=strict`. */
  strict?: boolean;
  /** The client whose key the caller has. */
  client?: string;
}

export interface Listed<Entity> extends Listing<Entity> {
  nextSince: string | undefined;
  /** The query of the next page. */
  next: string | undefined;
}

export interface SeenEvent {
  id: string;
  subject: string;
  body: EventBody;
}

export interface Caller {
  readonly integration: string;
  push(plural: Plural, items: readonly unknown[], beside?: object, manner?: Manner): Promise<Pushed>;
  /** Pushes with `details=true`. */
  pushDetailed(
    plural: Plural,
    items: readonly unknown[],
    beside?: object,
    strict?: boolean,
  ): Promise<Planned>;
  plan(plural: Plural, items: readonly unknown[], beside?: object, manner?: Manner): Promise<Planned>;
  /** Pushes a body as it is given. */
  pushText(plural: Plural, body: string | Uint8Array, manner?: Manner): Promise<Pushed>;
  archive(plural: Plural, externalIds: readonly unknown[]): Promise<ArchiveAnswer & Synced>;
  expectations(): Promise<Expectations>;
  /** Sets expectations; a text is sent as it is. */
  expect(body: object | string, manner?: Manner): Promise<Expectations>;
  /** Archives with a body as it is given. */
  archiveText(plural: Plural, body: string): Promise<ArchiveAnswer & Synced>;
  erase(externalIds: readonly unknown[]): Promise<EraseAnswer & Synced>;
  list(plural: Plural, query?: string): Promise<Listed<ListingEntity>>;
  dds(query?: string): Promise<Listed<DdsEntry>>;
  runs(query?: string): Promise<Listed<SyncRun>>;
  run(syncId: string): Promise<SyncRunInFull>;
  /** All records, page by page, by the links. */
  listAll(plural: Plural, query?: string): Promise<ListingEntity[]>;
  /** All events of the integration on the stream EVENTS, in its order. */
  events(): Promise<SeenEvent[]>;
  /** The ids of all events in the log, which webhooks would deliver. */
  batched(): Promise<string[]>;
}

/** Repeats a push for as long as the service answers that it is busy; a busy service has written nothing. */
export async function pushPatiently<Answer>(push: () => Promise<Answer>): Promise<Answer> {
  for (;;) {
    try {
      return await push();
    } catch (error) {
      const isBusy = error instanceof Failure && error.code === 'unavailable';
      if (!isBusy || !error.detail.startsWith('The service is busy')) throw error;
    }
    await wait(100);
  }
}

const owner = { suppliers: 'catalog', products: 'catalog', batches: 'batches' } as const;

type Waiting = Pick<RequestOptions, 'timeoutMs' | 'signal'>;

function openCaller(bus: Bus, integration: string, waiting: Waiting): Caller {
  const ask = async (subject: string, options: { body?: string | Uint8Array; id?: string } & Manner) => {
    const headers = {
      [requestHeaders.integration]: integration,
      [requestHeaders.requestId]: randomUUID(),
      ...(options.query === undefined ? {} : { [requestHeaders.query]: options.query }),
      ...(options.strict === true ? { [requestHeaders.handling]: 'strict' } : {}),
      ...(options.client === undefined ? {} : { [requestHeaders.client]: options.client }),
      ...(options.id === undefined ? {} : { [requestHeaders.id]: options.id }),
    };
    const { body } = options;
    const reply = await bus.request(subject, {
      headers,
      ...waiting,
      ...(body === undefined ? {} : { body }),
    });
    return { headers: reply.headers, answer: JSON.parse(text(reply.body)) };
  };
  const change = async (subject: string, body: string | Uint8Array, manner: Manner = {}) => {
    const { headers, answer } = await ask(subject, { body, ...manner });
    return { ...answer, syncId: headers.get('http-x-sync-id') };
  };
  const list = async <Entity>(subject: string, query: string): Promise<Listed<Entity>> => {
    const { headers, answer } = await ask(subject, { query });
    const link = headers.get('http-link');
    return {
      ...answer,
      nextSince: headers.get('http-x-next-since'),
      next: link === undefined ? undefined : /\?([^>]+)>; rel="next"$/.exec(link)?.[1],
    };
  };
  const caller: Caller = {
    integration,
    push: (plural, items, beside = {}, manner = {}) =>
      caller.pushText(plural, JSON.stringify({ [plural]: items, ...beside }), manner),
    async pushDetailed(plural, items, beside = {}, strict = false) {
      const body = JSON.stringify({ [plural]: items, ...beside });
      const subject = `svc.${owner[plural]}.${plural}.push`;
      return (await ask(subject, { body, query: 'details=true', strict })).answer;
    },
    pushText: (plural, body, manner) => change(`svc.${owner[plural]}.${plural}.push`, body, manner),
    expectations: async () => (await ask('svc.catalog.expectations.get', {})).answer,
    expect: async (body, manner = {}) =>
      (
        await ask('svc.catalog.expectations.set', {
          body: typeof body === 'string' ? body : JSON.stringify(body),
          ...manner,
        })
      ).answer,
    archive: (plural, externalIds) => caller.archiveText(plural, JSON.stringify({ externalIds })),
    archiveText: (plural, body) => change(`svc.${owner[plural]}.${plural}.archive`, body),
    erase: (externalIds) => change('svc.catalog.suppliers.erase', JSON.stringify({ externalIds })),
    async plan(plural, items, beside = {}, manner = {}) {
      const body = JSON.stringify({ [plural]: items, ...beside });
      return (await ask(`svc.${owner[plural]}.${plural}.plan`, { body, ...manner })).answer;
    },
    list: (plural, query = '') => list(`svc.${owner[plural]}.${plural}.list`, query),
    dds: (query = '') => list('svc.batches.dds.list', query),
    runs: (query = '') => list('svc.catalog.runs.list', query),
    run: async (id) => (await ask('svc.catalog.runs.get', { id })).answer,
    async listAll(plural, query = 'limit=100') {
      const all: ListingEntity[] = [];
      for (let next: string | undefined = query; next !== undefined;) {
        const page: Listed<ListingEntity> = await caller.list(plural, next);
        all.push(...page.entities);
        next = page.next;
      }
      return all;
    },
    async batched() {
      const all = bus.readStream('EVENT_BATCHES', {
        subject: storedBatches(integration),
        from: { sequence: 1 },
      });
      const batches = await Array.fromAsync(all);
      return batches.flatMap(({ body }) => readEventBatch(body)?.events(text) ?? []).map(({ id }) => id);
    },
    async events() {
      const seen: SeenEvent[] = [];
      const all = bus.readStream('EVENTS', { subject: `events.${integration}.>`, from: { sequence: 1 } });
      for await (const { subject, id, body } of all) seen.push({ subject, id, body: JSON.parse(text(body)) });
      return seen;
    },
  };
  return caller;
}
