// The webhooks service on engines of its own, with functions to register, announce and wait for deliveries.
import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { healthSubject, publishWithBatch, subjects } from '@integration-sync/contracts';
import { openBus, type Bus } from '@integration-sync/runtime/bus';
import { openLog } from '@integration-sync/runtime/log';
import type { Environment } from '../../engines/environment.ts';
import { startEngines, type Engines } from '../../engines/index.ts';
import { startChild, startService, type Process } from '../children.ts';
import type { Processes } from '../cpu.ts';
import { makeEvents } from '../items.ts';
import { uptimeMs } from '../measure.ts';
import { temporaryFolder } from '../temporary.ts';

export interface Seen {
  path: string;
  hits: number;
  distinct: number;
  lagsMs: number[];
}

export interface House extends AsyncDisposable {
  readonly bus: Bus;
  /** `http://127.0.0.1:port` */
  readonly receiver: string;
  /** The engines, the receiver and the replicas that were started. */
  processes(): Processes;
  /** Starts a replica, which stops at the end of the benchmark unless it is stopped before. */
  startReplica(settings?: Record<string, string>): Promise<Process>;
  /** Registers an endpoint. */
  register(url: string, integration?: string): Promise<void>;
  announce(count: number, batch?: number, integration?: string): Promise<void>;
  seen(): Promise<Seen[]>;
  forget(): Promise<void>;
  /** Resolves when the receiver has got `count` different events at this path. */
  arrived(path: string, count: number, withinMs?: number): Promise<void>;
}

interface HouseOptions {
  say: (line: string) => void;
  environment: Environment;
  signal: AbortSignal;
}

export async function openHouse(options: HouseOptions): Promise<House> {
  await using opening = new AsyncDisposableStack();
  const { folder } = opening.use(await temporaryFolder());
  const engines = opening.use(await startEngines({ ...options, dataFolder: folder, temporary: true }));
  const log = openLog({ service: 'bench', level: 'warn' });
  const bus = opening.use(await openBus({ url: engines.nats.url, name: 'bench', log }));
  const child = opening.use(await startChild('webhooks/receiver.ts'));
  const receiver = `http://127.0.0.1:${String(child.greeting)}`;
  const environment = environmentOf(engines);
  const replicas: number[] = [];
  const seen = async (): Promise<Seen[]> => JSON.parse(await (await fetch(`${receiver}/seen`)).text());
  const stack = opening.move();

  return {
    bus,
    receiver,
    processes: () => ({
      webhooks: replicas,
      'nats-server': engines.nats.pids(),
      database: engines.mongodb.pids(),
      receiver: [child.pid],
    }),
    async startReplica(settings = {}) {
      const replica = stack.use(startService({ ...environment, ...settings }));
      replicas.push(replica.pid);
      await ready(bus);
      return replica;
    },
    async register(url, integration = 'bench') {
      await bus.request(subjects.endpointsRegister, {
        headers: { integration, 'request-id': 'bench' },
        body: JSON.stringify({ url, events: ['supplier.created'] }),
        timeoutMs: 10_000,
      });
    },
    async announce(count, batch = 500, integration = 'bench') {
      for (let from = 0; from < count; from += batch) {
        const size = Math.min(batch, count - from);
        const events = makeEvents(integration, size, { announcedAtMs: uptimeMs() });
        await publishWithBatch(bus, { announcer: 'catalog', integration, events });
      }
    },
    seen,
    async forget() {
      await fetch(`${receiver}/seen`, { method: 'DELETE' });
    },
    async arrived(path, count, withinMs = 120_000) {
      const until = performance.now() + withinMs;
      for (; ; await wait(50)) {
        const distinct = (await seen()).find((tally) => tally.path === path)?.distinct ?? 0;
        if (distinct >= count) return;
        if (performance.now() > until)
          throw new Error(`${distinct} of ${count} events were delivered to ${path}`);
      }
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

const environmentOf = ({ nats, mongodb }: Engines): Record<string, string> => ({
  NATS_URL: nats.url,
  MONGODB_URL: mongodb.url,
  MONGODB_DATABASE: `bench_${randomUUID().replaceAll('-', '')}`,
  WEBHOOK_SECRET_KEY: `bench:${randomBytes(32).toString('base64')}`,
  WEBHOOK_EGRESS_ALLOW: '127.0.0.0/8',
  WEBHOOK_ENDPOINTS_MAX: '5000',
  LOG_LEVEL: process.env['LOG_LEVEL'] ?? 'info',
  METRICS_PORT: '0',
});

async function ready(bus: Bus): Promise<void> {
  for (let tries = 0; tries < 600; tries += 1) {
    try {
      await bus.request(healthSubject('webhooks'), { timeoutMs: 1_000 });
      return;
    } catch {
      await wait(100);
    }
  }
  throw new Error('the service does not become ready');
}
