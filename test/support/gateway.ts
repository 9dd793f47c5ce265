// A gateway in this process, and services behind it that answer with the request they got.
import { healthSubject, subjects } from '@integration-sync/contracts';
import { startGateway, type GatewayDeps } from '@integration-sync/gateway';
import { GatewayConfig } from '@integration-sync/gateway/config';
import type { Bus, BusHandler } from '@integration-sync/runtime/bus';
import { readConfig } from '@integration-sync/runtime/config';
import { authSecret } from './access-tokens.ts';
import { openTestBus } from './bus.ts';
import { eventually } from './eventually.ts';
import { openTestLog } from './log.ts';

export type LogLine = Record<string, unknown>;

export interface TestGateway extends AsyncDisposable {
  url: string;
  port: number;
  metricsUrl: string;
  /** The gateway's log lines, oldest first. */
  lines: LogLine[];
  logText(): string;
}

export async function openGateway(
  nats: string,
  settings: Record<string, string> = {},
  deps: GatewayDeps = {},
): Promise<TestGateway> {
  const config = readConfig(GatewayConfig, {
    GATEWAY_PORT: '0',
    NATS_URL: nats,
    ...('AUTH_JWKS_URL' in settings ? {} : { AUTH_JWT_SECRET: authSecret }),
    ...settings,
  });
  const { log, lines, text } = openTestLog('gateway');
  const gateway = await startGateway(config, { log, lastRequestsMs: 0, ...deps });
  return {
    url: gateway.url,
    port: Number(new URL(gateway.url).port),
    metricsUrl: gateway.metricsUrl,
    get lines() {
      return lines.map((line): LogLine => JSON.parse(line));
    },
    logText: text,
    [Symbol.asyncDispose]: () => gateway[Symbol.asyncDispose](),
  };
}

/** Opens a gateway, and waits until it has reached NATS and the services: before that it answers 503. */
export async function openReadyGateway(...how: Parameters<typeof openGateway>): Promise<TestGateway> {
  await using opening = new AsyncDisposableStack();
  const gateway = opening.use(await openGateway(...how));
  await eventually(
    async () => (await fetch(`${gateway.url}/readyz`)).status,
    (status) => status === 200,
    60_000,
  );
  opening.move();
  return gateway;
}

/** A request as a service got it; `echo` answers with this form. */
export interface Asked {
  subject: string;
  headers: Record<string, string>;
  body: string;
}

/** Answers each request with itself, and with status 200 even if the route's own answer has no body. */
export const echo: BusHandler = async ({ subject, headers, body }) => ({
  status: 200,
  body: JSON.stringify({
    subject,
    headers: Object.fromEntries(headers),
    body: Buffer.from(body).toString('base64'),
  }),
});

export const askedBody = ({ body }: Asked): string => Buffer.from(body, 'base64').toString();

/** Catalog, batches and webhooks, whose handlers all echo unless a test gives others. */
export async function openServices(
  nats: string,
  handlers: Record<string, BusHandler> = {},
): Promise<AsyncDisposable & { bus: Bus }> {
  await using opening = new AsyncDisposableStack();
  const bus = opening.use(await openTestBus(nats, 'services'));
  for (const service of ['catalog', 'batches', 'webhooks'] as const) {
    const echoes = Object.values(subjects)
      .filter((subject) => subject.startsWith(`svc.${service}.`))
      .map((subject) => [subject, echo] as const);
    const own = Object.entries(handlers).filter(([subject]) => subject.startsWith(`svc.${service}.`));
    opening.use(
      await bus.serve({
        service,
        version: '1.0.0',
        description: 'answers what it was asked',
        inFlightMax: 5_000,
        handlers: {
          [healthSubject(service)]: async () => ({ body: '{"status":"ok"}' }),
          ...Object.fromEntries([...echoes, ...own]),
        },
      }),
    );
  }
  const opened = opening.move();
  return { bus, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}
