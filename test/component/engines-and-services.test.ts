// The local stack around real engines and stand-ins for the services: what it keeps running, what it writes
// down, and that it leaves nothing behind. The system tests run the real services on it.
import { access, readFile, stat } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { startStack, type Stack, type StackOptions } from '@integration-sync/dev/stack';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { identify } from '../../dev/process/identity.ts';
import { eventually } from '../support/eventually.ts';
import { temporaryFolder } from '../support/folder.ts';
import { useFolder } from '../support/use-folder.ts';
import { listen } from '../support/servers.ts';

const folder = useFolder();

const idle = join(import.meta.dirname, '../support/processes/idle-service.ts');

interface Facts {
  gateway: string;
  pids: Record<string, number[]>;
  metrics: Record<string, string[]>;
}

const readFacts = async ({ path } = folder): Promise<Facts> =>
  JSON.parse(await readFile(join(path, 'stack.json'), 'utf8'));

type StartOptions = Omit<Partial<StackOptions>, 'folder'> & { folder?: typeof folder };

/** On the run's own MongoDB, so that only a NATS has to be started. */
const start = ({ environment, folder: { path } = folder, ...more }: StartOptions = {}): Promise<Stack> =>
  startStack({
    folder: path,
    mainOf: () => idle,
    environment: {
      ...process.env,
      MONGODB_URL: inject('engines').mongodb,
      GATEWAY_PORT: '0',
      ...environment,
    },
    ...more,
  });

const all = (pids: Record<string, number[]>): number[] => Object.values(pids).flat();

const secretOf = async (): Promise<string | undefined> => {
  await using stack = await start();
  return stack.authSecret;
};

describe('a running local stack of engines and services', () => {
  // Except on Linux, loopback is one address.
  const GATEWAY_HOST = process.platform === 'linux' ? '127.0.0.2' : '127.0.0.1';
  const ending = new AsyncDisposableStack();
  const lines: string[] = [];
  let stack: Stack;
  let own: typeof folder;

  beforeAll(async () => {
    own = ending.use(await temporaryFolder());
    stack = ending.use(
      await start({
        folder: own,
        environment: { GATEWAY_HOST },
        replicas: { catalog: 2 },
        say: (line) => lines.push(line),
      }),
    );
  });
  afterAll(() => ending.disposeAsync());

  it('writes its addresses for scripts, and its secrets readable for its owner alone', async () => {
    const facts = await readFacts(own);
    expect(facts).toMatchObject({ gateway: stack.gateway, nats: stack.nats, mongodb: stack.mongodb });
    expect(Object.keys(facts.pids)).toStrictEqual([
      'gateway',
      'catalog',
      'batches',
      'webhooks',
      'nats',
      'mongodb',
    ]);
    expect(facts.pids['catalog']).toHaveLength(2);
    expect(all(facts.pids).filter((pid) => identify(pid) === undefined)).toStrictEqual([]);
    for (const file of ['stack.json', 'secrets.json']) {
      expect((await stat(join(own.path, file))).mode & 0o777).toBe(0o600);
    }
  });

  it('reaches its gateway at the address in GATEWAY_HOST', async () => {
    expect(new URL(stack.gateway).hostname).toBe(GATEWAY_HOST);
    await stack.ready();
    expect((await readFacts(own)).gateway).toBe(stack.gateway);
  });

  it('restarts a killed service and updates its file of addresses', async () => {
    const before = (await readFacts(own)).pids['batches'];
    const bystander = stack.pids()['catalog'];
    await stack.kill('batches');
    const isNew = ({ pids, metrics }: Facts): boolean => {
      const [pid] = pids['batches'] ?? [];
      return (
        pid !== undefined && pid !== before?.[0] && metrics['batches']?.[0] === `http://127.0.0.1:${pid}`
      );
    };
    await eventually(() => readFacts(own), isNew);
    expect(lines).toContain('batches died (SIGKILL); starting it again in 200 ms');
    expect(stack.pids()['catalog']).toStrictEqual(bystander);
  });

  it('keeps a paused service down until it is resumed', async () => {
    stack.hold('webhooks');
    await stack.kill('webhooks');
    await new Promise((resolve) => setTimeout(resolve, 400));
    expect(stack.pids()['webhooks']).toStrictEqual([]);
    await stack.resume('webhooks');
    expect(stack.pids()['webhooks']).toHaveLength(1);
  });

  it('goes on beside a second start, which is refused', async () => {
    const pids = stack.pids();
    await expect(start({ folder: own })).rejects.toThrow(
      `A local stack is running already (process ${process.pid}, ${stack.gateway}).`,
    );
    expect(stack.pids()).toStrictEqual(pids);
    expect((await readFacts(own)).gateway).toBe(stack.gateway);
  });
});

describe('a local stack of engines and services', () => {
  it('stops the gateway first, and leaves no process and no file of addresses', async () => {
    const stopLog = join(folder.path, 'stops');
    const stack = await start({ environment: { STOP_LOG: stopLog } });
    const pids = all(stack.pids());
    // A service that has not yet said that it serves does not listen to signals yet either.
    await eventually(
      () => readFacts(),
      ({ metrics }) => Object.keys(metrics).length === 4,
    );
    await stack[Symbol.asyncDispose]();
    expect((await readFile(stopLog, 'utf8')).split('\n')).toStrictEqual([
      'gateway',
      'service',
      'service',
      'service',
      '',
    ]);
    expect(pids.filter((pid) => identify(pid) !== undefined)).toStrictEqual([]);
    await expect(access(join(folder.path, 'stack.json'))).rejects.toThrow('ENOENT');
  });

  it('waits for the gateway for as long as GATEWAY_STOP_MS says, and ends within 15 s', async () => {
    const stopLog = join(folder.path, 'stops');
    const environment = { STOP_LOG: stopLog, GATEWAY_STOP_MS: '7000' };
    const stack = await start({ environment });
    await eventually(
      () => readFacts(),
      ({ metrics }) => Object.keys(metrics).length === 4,
    );
    const startedAt = Date.now();
    await stack[Symbol.asyncDispose]();
    expect(Date.now() - startedAt).toBeLessThan(15_000);
    expect((await readFile(stopLog, 'utf8')).split('\n').filter((name) => name === 'gateway')).toHaveLength(
      1,
    );
  });

  it('keeps its secrets over a restart, so that tokens stay valid', async () => {
    const secret = await secretOf();
    expect(secret).toMatch(/^[\w-]{43}$/);
    expect(await secretOf()).toBe(secret);
  });
});

describe('a start that cannot succeed', () => {
  it('names the failed service and its output, and leaves no process', async () => {
    const lines: string[] = [];
    const starting = start({
      environment: { WRONG_SETTING: 'gateway' },
      say: (line) => lines.push(line),
    });
    await expect(starting).rejects.toThrow(
      'The service gateway does not start (exit code 1).\ngateway cannot start:\n  LOG_LEVEL: expected one of info, warn',
    );
    await expect(access(join(folder.path, 'services.json'))).rejects.toThrow('ENOENT');
    await expect(access(join(folder.path, 'data/engines.json'))).rejects.toThrow('ENOENT');
  });

  it('is refused before anything is started with every wrong setting of every service', async () => {
    const starting = start({
      environment: { GATEWAY_PORT: 'abc', LOG_LEVEL: 'loud', WEBHOOK_EGRESS_ALLOW: '10.0.0.0/99' },
    });
    await expect(starting).rejects.toThrow(
      /^GATEWAY_PORT: expected .*, got "abc"\nLOG_LEVEL: expected .*, got "loud"\nWEBHOOK_EGRESS_ALLOW: expected .*, got "10\.0\.0\.0\/99"$/,
    );
    await expect(access(join(folder.path, 'data'))).rejects.toThrow('ENOENT');
  });

  it('is refused before anything is started when the port of the gateway is taken', async () => {
    await using other = await listen(createServer());
    const starting = start({ environment: { GATEWAY_PORT: String(other.port) } });
    await expect(starting).rejects.toThrow(`Port ${other.port} is taken.`);
    await expect(access(join(folder.path, 'data'))).rejects.toThrow('ENOENT');
  });

  it('is refused with the reason when the name in GATEWAY_HOST does not resolve', async () => {
    const starting = start({
      environment: { GATEWAY_HOST: 'nosuch.invalid', GATEWAY_PORT: '18080' },
    });
    await expect(starting).rejects.toThrow(
      /^GATEWAY_HOST, GATEWAY_PORT: cannot listen on nosuch\.invalid, port 18080 \(.*nosuch\.invalid.*\)\.$/,
    );
    await expect(access(join(folder.path, 'data'))).rejects.toThrow('ENOENT');
  });

  it('ends when its caller aborts it, and leaves no process', async () => {
    const stop = new AbortController();
    const starting = start({ signal: stop.signal, environment: { NEVER_READY: 'true' } });
    const outcome = starting.catch((error: unknown) => error);
    const noted = async (): Promise<unknown> => {
      const text = await readFile(join(folder.path, 'services.json'), 'utf8').catch(() => '[]');
      return JSON.parse(text);
    };
    await eventually(noted, (entries) => Array.isArray(entries) && entries.length === 4);
    stop.abort(new Error('stop asked for'));
    expect(await outcome).toMatchObject({ message: 'stop asked for' });
    await expect(access(join(folder.path, 'services.json'))).rejects.toThrow('ENOENT');
  });
});
