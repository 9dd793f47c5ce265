// A system whose replicas are of this release or of the release before, each a process of its own.
import type { Service } from '@integration-sync/dev/stack';
import { expect, inject } from 'vitest';
import { formerPrograms } from '../upgrade/former.ts';
import { authSecret, token } from './access-tokens.ts';
import { eventually } from './eventually.ts';
import { callHttp, type HttpAnswer } from './http.ts';
import { addressIn, startServiceProcess, type ServiceProcess } from './service-process.ts';
import { secretKey } from './webhooks.ts';

export type Release = 'former' | 'present';

export interface MixedSystem extends AsyncDisposable {
  /** Starts one more replica; resolves once it serves. Callers use the gateway that was started last. */
  start(service: Service, release: Release): Promise<ServiceProcess>;
  /** Ends a replica in order. */
  stop(service: Service, replica: ServiceProcess): Promise<void>;
  /** Replaces all replicas of a service, one at a time. */
  roll(service: Service, release: Release): Promise<void>;
  /** Whether a replica is being started or ended. */
  isChanging(): boolean;
  replicasOf(service: Service): readonly ServiceProcess[];
  call(integration: string, method: string, path: string, body?: unknown): Promise<HttpAnswer>;
  /** What `/readyz` of the gateway says, status and body. */
  readiness(): Promise<HttpAnswer>;
}

/** `settingsOf` gives the settings that differ between services. */
export async function openMixedSystem(
  environment: Readonly<Record<string, string>>,
  settingsOf: (service: Service) => Readonly<Record<string, string>> = () => ({}),
): Promise<MixedSystem> {
  const programs = { former: await formerPrograms(), present: inject('programs') };
  const replicas: Record<Service, ServiceProcess[]> = { gateway: [], catalog: [], batches: [], webhooks: [] };
  const running = new AsyncDisposableStack();
  const gatewayUrl = (): string => {
    const newest = replicas.gateway.at(-1);
    if (newest === undefined) throw new Error('no gateway runs');
    return addressIn(newest, 'url');
  };
  let changes = 0;
  const changing = (): Disposable => {
    changes += 1;
    return { [Symbol.dispose]: () => void (changes -= 1) };
  };
  const system: MixedSystem = {
    async start(service, release) {
      using _change = changing();
      const started = running.use(
        await startServiceProcess(programs[release][service], {
          ...environment,
          AUTH_JWT_SECRET: authSecret,
          WEBHOOK_SECRET_KEY: secretKey,
          WEBHOOK_EGRESS_ALLOW: '127.0.0.0/8',
          GATEWAY_PORT: '0',
          CONSOLE: 'off',
          ...settingsOf(service),
        }),
      );
      const probe = probeOf(service, release, started);
      if (probe !== undefined && replicas[service].length > 0)
        await eventually(
          async () => (await fetch(probe)).status,
          (status) => status === 200,
          60_000,
        );
      replicas[service] = [...replicas[service], started];
      return started;
    },
    async stop(service, replica) {
      using _change = changing();
      replicas[service] = replicas[service].filter((one) => one !== replica);
      expect(await replica.stop()).toBe(0);
    },
    async roll(service, release) {
      for (const before of replicas[service]) {
        await system.start(service, release);
        await system.stop(service, before);
      }
    },
    isChanging: () => changes > 0,
    replicasOf: (service) => replicas[service],
    call: (integration, method, path, body) =>
      callHttp(
        `${gatewayUrl()}/api/v1/integration${path}`,
        token({ integration_id: integration }),
        method,
        body,
      ),
    readiness: () => callHttp(`${gatewayUrl()}/readyz`, token()),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
  return system;
}

/** What a rollout waits for. Another replica of the release before than a gateway has no probe: it is ready once it serves. */
function probeOf(service: Service, release: Release, started: ServiceProcess): URL | undefined {
  if (service === 'gateway') return new URL('/readyz', addressIn(started, 'url'));
  return release === 'present' ? new URL('/ready', addressIn(started, 'metrics')) : undefined;
}
