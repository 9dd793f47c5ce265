// Which engines a process needs (MongoDB, NATS, the issuer), whether each is up, and whether the process was ever ready. Until
// then, `GET /ready` on the port of the metrics is 503, later always 200. So a rollout stops at a replica that cannot serve, but
// an engine that goes away later takes no replica out of service. The gauges show this engine as down.
import type { Registry } from 'prom-client';
import { gaugeByLabel, gaugesOf } from './gauges.ts';

/** By name: whether the engine is up; undefined while the process has not asked it yet. */
export type Engines = Readonly<Record<string, () => boolean | undefined>>;

const settingsOf: Readonly<Record<string, string>> = {
  mongodb: 'MONGODB_URL',
  nats: 'NATS_URL',
  issuer: 'AUTH_ISSUER, AUTH_JWKS_URL',
};

export type EngineWatch = ReturnType<typeof openEngineWatch>;

const startMs = 1_000;

export function openEngineWatch(registry: Registry) {
  const beganAt = performance.now();
  let engines: Engines = {};
  let step: (() => string | undefined) | undefined;
  let hasServed = false;
  const withStep = (words: string): string => {
    const said = step?.();
    return said === undefined ? words : `${words}: ${said}`;
  };
  const states = () => Object.entries(engines).map(([engine, isUp]) => [engine, isUp()] as const);
  gaugeByLabel(registry, {
    name: 'sync_engine_up',
    help: 'Whether an engine of this process answers it and lets it do its work.',
    label: 'engine',
    read: () => states().flatMap(([engine, isUp]) => (isUp === undefined ? [] : [[engine, isUp ? 1 : 0]])),
  });
  gaugesOf(registry)('sync_served', 'Whether this process has served since its start.', () =>
    hasServed ? 1 : 0,
  );
  return {
    /** Names the engines, before the process asks the first engine. `awaited` says in words for what else the start waits. */
    needs(named: Engines, awaited?: typeof step): void {
      engines = named;
      step = awaited;
    },
    served: (): void => {
      hasServed = true;
    },
    /** What the process waits for, in words; undefined once it was ready to serve. */
    waitsFor(): string | undefined {
      if (hasServed) return undefined;
      const away = states().filter(([, isUp]) => isUp === false);
      const words = away.map(([engine]) => `waiting for ${engine}: ${settingsOf[engine] ?? ''}`);
      return words.join('; ') || withStep('the start has not ended');
    },
    /** A note for `/readyz` if the start takes longer than a second: another replica may serve meanwhile. */
    startNotes(): string[] {
      if (hasServed || performance.now() - beganAt < startMs) return [];
      return [`${withStep('A replica is starting')}.`];
    },
  };
}
