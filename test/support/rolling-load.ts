// Callers that push, list and read the feed while replicas are replaced, and what they know in the end: what was pushed, what was
// refused, and the events that they read.
import { setTimeout as wait } from 'node:timers/promises';
import type { HttpAnswer } from './http.ts';
import type { MixedSystem } from './mixed-system.ts';

export interface RollingLoad {
  readonly integration: string;
  /** How many requests were answered as they should be. */
  readonly requests: number;
  /** Those that were not: method, path and answer. */
  readonly failures: readonly string[];
  /** The pushes that were answered 200. */
  readonly pushes: readonly { syncId: string; kind: string }[];
  /** `supplier.created S-1`, once for each time that it occurred by what callers know; sorted. */
  expectedEvents(): string[];
  /** The ids of events in the order in which the feed had them. */
  readonly fed: readonly string[];
  /** Resolves after so many more pushes. */
  untilPushed(more: number): Promise<void>;
  /** Ends the callers that push, each after its answer. */
  endPushes(): Promise<void>;
  /** Ends all callers. */
  end(): Promise<void>;
}

/** Between two requests of a caller while a replica is started or ended, and while all replicas stay: the engines work for other tests too. */
const [restMs, longRestMs] = [50, 250];

type Of = Pick<MixedSystem, 'call' | 'isChanging'>;

export function openRollingLoad({ call, isChanging }: Of, integration: string): RollingLoad {
  const rest = (): Promise<void> => wait(isChanging() ? restMs : longRestMs);
  const isOver = new AbortController();
  const isPushed = new AbortController();
  const failures: string[] = [];
  const pushes: { syncId: string; kind: string }[] = [];
  const events: string[] = [];
  const fed: string[] = [];
  let requests = 0;

  const ask = async (method: string, path: string, body?: unknown): Promise<HttpAnswer | undefined> => {
    const what = `${method} ${path}`;
    try {
      const answer = await call(integration, method, path, body);
      requests += 1;
      if (answer.status === 200) return answer;
      failures.push(`${what}: ${answer.status} ${JSON.stringify(answer.body)}`);
    } catch (error) {
      failures.push(`${what}: ${String(error instanceof Error ? (error.cause ?? error) : error)}`);
    }
    return undefined;
  };
  const pushAll = async (kind: string, plural: string, itemOf: (nth: number, name: string) => object) => {
    for (let nth = 0; !isPushed.signal.aborted; nth += 1) {
      // Each record comes twice, the second time changed.
      const name = nth % 2 === 0 ? 'before' : 'after';
      const externalId = `${kind}-${Math.floor(nth / 2)}`;
      const item = { externalId, ...itemOf(nth, name) };
      const beside = kind === 'batch' ? { autoCreateDDS: true } : {};
      const answer = await ask('POST', `/${plural}`, { [plural]: [item], ...beside });
      if (answer !== undefined) {
        pushes.push({ syncId: answer.headers.get('x-sync-id') ?? '', kind });
        events.push(`${kind}.${nth % 2 === 0 ? 'created' : 'updated'} ${externalId}`, 'sync.completed');
        if (kind === 'batch' && nth % 2 === 0) events.push(`dds.created ${externalId}`);
      }
      await rest();
    }
  };
  const list = async (): Promise<void> => {
    const paths = ['/suppliers?limit=5', '/batches?details=true&limit=2', '/dds?limit=5', '/webhook-events'];
    paths.push('/sync-runs?limit=5', '/sync-runs?entityType=batch&failed=true');
    for (let nth = 0; !isOver.signal.aborted; nth += 1) {
      await ask('GET', paths[nth % paths.length] ?? '');
      const last = pushes.at(-1);
      if (last !== undefined) await ask('GET', `/sync-runs/${last.syncId}`);
      await rest();
    }
  };
  const follow = async (): Promise<void> => {
    const since = new Date(Date.now() - 60_000).toISOString();
    const known = new Set<string>();
    for (let query = `since=${since}`; !isOver.signal.aborted;) {
      const answer = await call(integration, 'GET', `/events?${query}&wait=1&limit=500`).catch(String);
      // A place of this release is 400 after a return to the release before: the reader begins again.
      const isForeign = typeof answer !== 'string' && answer.status === 400 && query.startsWith('after=');
      if (isForeign) query = `since=${since}`;
      else if (typeof answer === 'string' || answer.status !== 200) {
        failures.push(`GET /events: ${typeof answer === 'string' ? answer : JSON.stringify(answer.body)}`);
        await rest();
      } else {
        requests += 1;
        const ids: string[] = answer.body.events.map(({ id }: { id: string }) => id);
        const isAgain = query.startsWith('since=');
        fed.push(...ids.filter((id) => !isAgain || !known.has(id)));
        for (const id of ids) known.add(id);
        query = `after=${encodeURIComponent(answer.body.next)}`;
      }
    }
  };
  const pushing = [
    pushAll('supplier', 'suppliers', (_nth, name) => ({ name })),
    pushAll('product', 'products', (_nth, name) => ({ name })),
    pushAll('batch', 'batches', (nth) => ({ batchNumber: 'LOT', productExternalId: 'P', quantity: nth })),
  ];
  const others = [list(), follow()];
  const untilPushed = async (more: number): Promise<void> => {
    const from = pushes.length;
    const endsAt = Date.now() + 60_000;
    while (pushes.length < from + more) {
      if (Date.now() > endsAt) throw new Error(`${pushes.length - from} pushes within a minute`);
      await wait(restMs);
    }
  };
  return {
    integration,
    failures,
    pushes,
    fed,
    get requests() {
      return requests;
    },
    expectedEvents: () => events.toSorted(),
    untilPushed,
    async endPushes() {
      isPushed.abort();
      await Promise.all(pushing);
    },
    async end() {
      isPushed.abort();
      isOver.abort();
      await Promise.all([...pushing, ...others]);
    },
  };
}
