// A new replica with a wrong setting, or before an engine that is not there, beside replicas that serve. It is never ready, one line
// names the setting and says why, and no request to the others fails.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { findPort } from '../../../dev/process/port.ts';
import { eventually } from '../../support/eventually.ts';
import { authSecret } from '../../support/access-tokens.ts';
import { pause } from '../../support/pause.ts';
import { openSystemWithUsers, type SystemWithUsers } from '../../support/users-system.ts';

let system: SystemWithUsers;
let wrongLogin: string;

beforeAll(async () => {
  system = await openSystemWithUsers(inject('engines').mongodb);
  wrongLogin = system.nats.engine.url.replace('//', '//catalog:wrong@');
  const webhook = { url: 'https://127.0.0.1:9/', events: ['webhook.disabled'] };
  const { status } = await system.call('acme', 'POST', '/webhook-events', webhook);
  if (status !== 201) throw new Error(`the webhook is not registered: ${status}`);
}, 60_000);
afterAll(() => system[Symbol.asyncDispose]());

type Service = 'gateway' | 'catalog' | 'batches' | 'webhooks';

interface Wrong {
  service: Service;
  settings: () => Record<string, string>;
  /** The line that names the setting and says why. */
  says: RegExp;
  /** What `GET /ready` says of a replica that waits; a replica with any other wrong setting ends. */
  waits?: string;
}

const closed = '127.0.0.1:2';
const absent = '/absent/file';
const mongodb = (change: (url: URL) => void): string => {
  const url = new URL(inject('engines').mongodb);
  change(url);
  return url.href;
};

const wrongs: Record<string, Wrong> = {
  'a wrong password of NATS': {
    service: 'catalog',
    settings: () => ({ NATS_URL: wrongLogin }),
    says: /"setting":"NATS_URL".*Authorization Violation/i,
    waits: 'waiting for nats: NATS_URL',
  },
  'a wrong password of NATS at the gateway': {
    service: 'gateway',
    settings: () => ({ NATS_URL: wrongLogin }),
    says: /"setting":"NATS_URL".*Authorization Violation/i,
    waits: 'waiting for nats: NATS_URL',
  },
  'a NATS that is not there': {
    service: 'batches',
    settings: () => ({ NATS_URL: `nats://${closed}` }),
    says: /"setting":"NATS_URL".*connection refused/i,
    waits: 'waiting for nats: NATS_URL',
  },
  'a NATS that wants TLS and has none': {
    service: 'webhooks',
    settings: () => ({ NATS_URL: system.nats.urlOf('webhooks').replace('nats:', 'tls:') }),
    says: /"setting":"NATS_URL".*tls/i,
    waits: 'waiting for nats: NATS_URL',
  },
  'the login of another service': {
    service: 'catalog',
    settings: () => ({ NATS_URL: system.nats.urlOf('batches') }),
    says: /NATS_URL: this login may not subscribe to svc\.catalog\./,
  },
  'the login of another service at the gateway': {
    service: 'gateway',
    settings: () => ({ NATS_URL: system.nats.urlOf('catalog') }),
    says: /"setting":"NATS_URL".*Permissions Violation/i,
    waits: 'the start has not ended: no service answers requests of the login in NATS_URL',
  },
  'a MongoDB that is not there': {
    service: 'catalog',
    settings: () => ({ MONGODB_URL: `mongodb://${closed}` }),
    says: /"setting":"MONGODB_URL".*ECONNREFUSED/,
    waits: 'waiting for mongodb: MONGODB_URL',
  },
  'the name of another replica set': {
    service: 'batches',
    settings: () => ({ MONGODB_URL: mongodb((url) => url.searchParams.set('replicaSet', 'other')) }),
    says: /"setting":"MONGODB_URL".*(replica set|selection timed out)/i,
    waits: 'waiting for mongodb: MONGODB_URL',
  },
  'TLS before a MongoDB that has none': {
    service: 'webhooks',
    settings: () => ({ MONGODB_URL: mongodb((url) => url.searchParams.set('tls', 'true')) }),
    says: /"setting":"MONGODB_URL"/,
    waits: 'waiting for mongodb: MONGODB_URL',
  },
  'a login that MongoDB does not know': {
    service: 'batches',
    settings: () => ({
      MONGODB_URL: mongodb((url) => Object.assign(url, { username: 'a', password: 'wrong' })),
    }),
    says: /MONGODB_URL: .*/,
  },
  'the address of another database': {
    service: 'catalog',
    settings: () => ({ MONGODB_URL: 'postgres://127.0.0.1/' }),
    says: /MONGODB_URL: expected an address such as mongodb:/,
  },
  'an unknown option of MongoDB': {
    service: 'batches',
    settings: () => ({ MONGODB_URL: mongodb((url) => url.searchParams.set('replicaset_', 'a')) }),
    says: /MONGODB_URL: .*replicaset_/i,
  },
  'reads from secondaries': {
    service: 'webhooks',
    settings: () => ({ MONGODB_URL: mongodb((url) => url.searchParams.set('readPreference', 'secondary')) }),
    says: /MONGODB_URL: expected no readPreference other than primary/,
  },
  'the name of no database': {
    service: 'catalog',
    settings: () => ({ MONGODB_DATABASE: 'a b' }),
    says: /MONGODB_DATABASE: expected a name/,
  },
  'a number in letters': {
    service: 'batches',
    settings: () => ({ PUSHES_AT_ONCE_MAX: 'four' }),
    says: /PUSHES_AT_ONCE_MAX: expected .*four/,
  },
  'no day of events': {
    service: 'webhooks',
    settings: () => ({ EVENTS_KEEP_DAYS: '0' }),
    says: /EVENTS_KEEP_DAYS: expected/,
  },
  'a file that is not there': {
    service: 'catalog',
    settings: () => ({ MONGODB_URL: '', MONGODB_URL_FILE: absent }),
    says: /MONGODB_URL_FILE: cannot read .*there is no such file/,
  },
  'a certificate that is none': {
    service: 'batches',
    settings: () => ({ NATS_TLS_CA: 'certificate' }),
    says: /NATS_TLS_CA: expected one or more certificates/,
  },
  'a monitoring that is no address': {
    service: 'catalog',
    settings: () => ({ NATS_MONITOR_URL: 'here' }),
    says: /NATS_MONITOR_URL: expected an address/,
  },
  'a port that is taken': {
    service: 'batches',
    settings: () => ({ METRICS_PORT: new URL(system.gatewayUrl).port }),
    says: /METRICS_PORT.*the port is taken/,
  },
  'a short key of secrets': {
    service: 'webhooks',
    settings: () => ({ WEBHOOK_SECRET_KEY: 'short' }),
    says: /WEBHOOK_SECRET_KEY: expected/,
  },
  'another key of secrets': {
    service: 'webhooks',
    settings: () => ({ WEBHOOK_SECRET_KEY: Buffer.alloc(32, 7).toString('base64') }),
    says: /WEBHOOK_SECRET_KEY/,
  },
  'an address range that is none': {
    service: 'webhooks',
    settings: () => ({ WEBHOOK_EGRESS_ALLOW: '10.0.0.0/33' }),
    says: /WEBHOOK_EGRESS_ALLOW: expected/,
  },
  'a short secret of tokens': {
    service: 'gateway',
    settings: () => ({ AUTH_JWT_SECRET: 'short' }),
    says: /AUTH_JWT_SECRET: /,
  },
  'a file of clients that is not there': {
    service: 'gateway',
    settings: () => ({ AUTH_CLIENTS_FILE: absent }),
    says: /AUTH_CLIENTS_FILE: /,
  },
  'an identity provider that is not there': {
    service: 'gateway',
    settings: () => ({ AUTH_JWT_SECRET: '', AUTH_JWKS_URL: `http://${closed}/` }),
    says: /AUTH_JWKS_URL.*ECONNREFUSED/,
    waits: 'waiting for issuer: AUTH_ISSUER, AUTH_JWKS_URL',
  },
};

async function begin({ service, settings }: Pick<Wrong, 'service' | 'settings'>) {
  const port = await findPort();
  const child = spawn(process.execPath, [inject('programs')[service]], {
    env: {
      PATH: process.env['PATH'],
      NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
      ...system.environmentOf(service),
      ...(service === 'gateway' ? { AUTH_JWT_SECRET: authSecret, GATEWAY_PORT: '0', CONSOLE: 'off' } : {}),
      METRICS_PORT: String(port),
      ...settings(),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exited = once(child, 'exit').then(([code]: unknown[]) => code);
  const lines: string[] = [];
  for (const stream of [child.stdout, child.stderr])
    createInterface({ input: stream }).on('line', (line) => lines.push(line));
  const ready = async (): Promise<string> => {
    const answer = await fetch(`http://127.0.0.1:${port}/ready`).catch(() => undefined);
    return answer === undefined ? 'no answer' : `${answer.status} ${(await answer.text()).trim()}`;
  };
  const end = async (): Promise<void> => {
    child.kill('SIGKILL');
    await exited;
  };
  return { lines, exited, ready, [Symbol.asyncDispose]: end };
}

const ask = async (method: string, path: string, body?: unknown): Promise<string[]> => {
  const { status } = await system.call('bystander', method, path, body);
  return status === 200 ? [] : [`${method} ${path}: ${status}`];
};
/** The replicas under test need the processors, too. */
const restMs = 50;

/** Requests to the replicas that serve, all the time; resolves with the answers that were no success. */
async function keepAsking(signal: AbortSignal): Promise<string[]> {
  const failed: string[] = [];
  for (let count = 0; !signal.aborted || count === 0; count += 1) {
    const suppliers = [{ externalId: 'S', name: String(count) }];
    failed.push(...(await ask('POST', '/suppliers', { suppliers })));
    failed.push(...(await ask('GET', '/batches')), ...(await ask('GET', '/webhook-events')));
    await pause(restMs);
  }
  return failed;
}

describe('a new replica beside old replicas that serve', () => {
  const ended = new AbortController();
  let failed: Promise<string[]>;
  beforeAll(() => {
    failed = keepAsking(ended.signal);
  });

  it.concurrent.each(Object.entries(wrongs))(
    'with %s is never ready, and names the setting',
    async (_name, wrong) => {
      await using replica = await begin(wrong);
      const { lines, exited, ready } = replica;
      const ends = async (): Promise<string> => `ended with ${String(await exited)}`;
      const waits = (): Promise<string> => eventually(ready, (said) => said === `503 ${wrong.waits}`, 20_000);
      const expected = wrong.waits === undefined ? 'ended with 1' : `503 ${wrong.waits}`;
      expect(await (wrong.waits === undefined ? ends() : waits())).toBe(expected);
      const text = await eventually(
        () => lines.join('\n'),
        (all) => wrong.says.test(all),
        20_000,
      );
      expect(text).not.toContain(':wrong@');
    },
    30_000,
  );

  it('with wrong settings causes no failed request at the old replicas', async () => {
    ended.abort();
    expect(await failed).toEqual([]);
  });
});

it.each<[Service, string, string]>([
  ['gateway', 'RATE_LIMIT_REQUEST', 'RATE_LIMIT_REQUESTS'],
  ['catalog', 'MONGODB_POOLSIZE', 'MONGODB_POOL_SIZE'],
  ['batches', 'EVENT_KEEP_DAYS', 'EVENTS_KEEP_DAYS'],
  ['webhooks', 'WEBHOOK_EGRESS_ALOW', 'WEBHOOK_EGRESS_ALLOW'],
])(
  '%s serves with the misspelt variable %s, and /readyz notes that it is no setting',
  async (service, misspelt, meant) => {
    await using replica = await begin({ service, settings: () => ({ [misspelt]: '5' }) });
    await eventually(replica.ready, (said) => said.startsWith('200'), 20_000);
    const serving = await eventually(
      () => replica.lines.find((line) => line.includes('"msg":"serving"')) ?? '',
      (line) => line !== '',
    );
    const { url = system.gatewayUrl }: { url?: string } = JSON.parse(serving);
    const { status, body } = await eventually(
      async () => {
        const answer = await fetch(`${url}/readyz`);
        return { status: answer.status, body: await answer.text() };
      },
      ({ body: text }) => text.includes(misspelt),
    );
    expect(status).toBe(200);
    const detail = `${misspelt} is no setting and is ignored: is ${meant} meant?`;
    expect(JSON.parse(body)).toMatchObject({ notes: [{ pointer: service, detail }] });
  },
);
