// Which packages of OpenTelemetry a process loads: none of its SDK, unless there is a collector.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, inject, it } from 'vitest';
import { authSecret } from '../../support/access-tokens.ts';
import { openCollector } from '../../support/collector.ts';

const root = join(import.meta.dirname, '../../..');

/** Starts a gateway and ends it when it serves; the names of the packages that it has loaded. */
async function packagesLoaded(settings: Record<string, string>): Promise<Set<string>> {
  const child = spawn(
    process.execPath,
    ['--import', join(root, 'test/support/processes/modules.ts'), join(root, 'services/gateway/src/main.ts')],
    {
      env: {
        ...process.env,
        NATS_URL: inject('engines').nats,
        GATEWAY_PORT: '0',
        AUTH_JWT_SECRET: authSecret,
        ...settings,
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  const exited = once(child, 'exit');
  let loaded: string[] = [];
  for await (const text of createInterface({ input: child.stdout })) {
    const line = JSON.parse(text) as { msg?: string; loaded?: string[] };
    if (line.msg === 'serving') child.kill('SIGTERM');
    loaded = line.loaded ?? loaded;
  }
  await exited;
  expect(child.exitCode).toBe(0);
  expect(loaded.length).toBeGreaterThan(100);
  const names = loaded.map((url) => /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(url)?.[1] ?? '');
  return new Set(names);
}

/** prom-client asks the API for the trace of an exemplar, and there is none. */
const api = '@opentelemetry/api';
const ofOpenTelemetry = (names: Set<string>): string[] =>
  [...names].filter((name) => name.startsWith('@opentelemetry/') && name !== api).toSorted();

it('without a collector no module of the OpenTelemetry SDK is loaded', async () => {
  const names = await packagesLoaded({});
  expect(names).toContain('fastify');
  expect(ofOpenTelemetry(names)).toEqual([]);
});

it('with a collector the OpenTelemetry SDK is loaded', async () => {
  await using collector = await openCollector();
  const names = await packagesLoaded({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
  expect(ofOpenTelemetry(names)).toContain('@opentelemetry/sdk-trace');
});
