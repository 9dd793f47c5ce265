import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { findPort } from '@integration-sync/dev/port';
import type { Stack } from '@integration-sync/dev/stack';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { pythonPath, pythons } from '../support/python.ts';
import { openClient, startTestStack } from '../support/stack.ts';

// The receivers of the page "Receiving webhooks", each as a program of its own, with real deliveries.

let stack: Stack;
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'integration-sync-receivers-'));
  stack = await startTestStack();
});
afterAll(async () => {
  await stack[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

const source = (name: string): string => resolve('docs/receivers', name);
/** Go's own `run` would start the program as a child of its own, which outlives it. */
function buildGo(): string[] {
  const program = join(folder, 'receiver');
  const { status, stderr } = spawnSync('go', ['build', '-o', program, source('receiver.go')]);
  if (status !== 0) throw new Error(stderr.toString());
  return [program];
}

/** The wheel is made for 3.11 and newer. */
const python = pythons[0]?.python ?? 'python3.11';

const languages = [
  {
    language: 'TypeScript',
    needs: process.execPath,
    prepare: () => [process.execPath, source('receiver.ts')],
  },
  { language: 'Python', needs: python, prepare: () => [python, source('receiver.py')] },
  { language: 'Go', needs: 'go', prepare: buildGo },
];
const isThere = (command: string): boolean => spawnSync(command, ['--help']).error === undefined;

const isListening = (port: number): Promise<boolean> =>
  new Promise((settle) => {
    const socket = connect(port, '127.0.0.1', () => settle(true)).on('error', () => settle(false));
    socket.on('connect', () => socket.destroy());
  });

async function startReceiver([program = '', ...options]: string[], port: number, secret: string) {
  const child = spawn(program, options, {
    env: { ...process.env, PYTHONPATH: pythonPath, PORT: String(port), WEBHOOK_SECRET: secret },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let printed = '';
  child.stdout.on('data', (chunk: Buffer) => (printed += chunk.toString()));
  await eventually(() => isListening(port), Boolean, 60_000);
  return {
    printed: () => printed,
    async [Symbol.asyncDispose]() {
      const exited = once(child, 'exit');
      child.kill('SIGKILL');
      await exited;
    },
  };
}

/** The checks of a drill that the receiver fails, of all twelve. */
async function failedInDrill(client: ReturnType<typeof openClient>, id: string): Promise<string[]> {
  const { status, body } = await client.post(`/webhook-events/${id}/drill`, {});
  expect(status).toBe(200);
  const { checks } = body as { checks: { name: string; passed: boolean; answered: number | null }[] };
  expect(checks).toHaveLength(12);
  return checks.filter(({ passed }) => !passed).map(({ name, answered }) => `${name}: ${answered}`);
}

for (const { language, needs, prepare } of languages) {
  it.runIf(isThere(needs))(
    `the receiver in ${language} verifies real deliveries, and refuses signatures of another secret`,
    async () => {
      const command = prepare();
      const acme = openClient(stack);
      const port = await findPort();
      const registered = await acme.post('/webhook-events', {
        url: `http://127.0.0.1:${port}/`,
        events: ['supplier.created'],
      });
      const { id, secret } = registered.body as { id: string; secret: string };
      const outcomes = async () => {
        const { body } = await acme.get(`/webhook-events/${id}/deliveries`);
        return (body as { entities: { outcome: string; responseStatus: number }[] }).entities.map(
          ({ outcome, responseStatus }) => `${outcome} ${responseStatus}`,
        );
      };
      {
        await using receiver = await startReceiver(command, port, secret);
        await acme.post('/suppliers', { suppliers: [{ externalId: 'S-1', name: 'Grüße 🌲' }] });
        expect(await eventually(outcomes, (all) => all.length === 1)).toEqual(['succeeded 204']);
        await eventually(receiver.printed, (text) => text.includes('S-1'));
        expect(await failedInDrill(acme, id)).toEqual([]);
      }
      const other = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
      await using stranger = await startReceiver(command, port, other);
      await acme.post('/suppliers', { suppliers: [{ externalId: 'S-2', name: 'Two' }] });
      const [latest] = await eventually(outcomes, (all) => all.length >= 2);
      expect(latest).toBe('failed 400');
      expect(stranger.printed()).not.toContain('S-2');
    },
  );

  it.runIf(isThere(needs))(`the receiver in ${language} does not start with a guessable secret`, () => {
    const [program = '', ...options] = prepare();
    for (const secret of ['', 'whsec_', 'whsec_dG9vIHNob3J0']) {
      const environment = { ...process.env, PYTHONPATH: pythonPath, PORT: '0', WEBHOOK_SECRET: secret };
      const { status, stderr } = spawnSync(program, options, { env: environment, timeout: 20_000 });
      expect(status).toBe(1);
      expect(stderr.toString()).toContain('WEBHOOK_SECRET: expected whsec_');
    }
  });
}

const hasFlask = spawnSync('python3', ['-c', 'import flask']).status === 0;

it.runIf(hasFlask)('a receiver in Flask answers every delivery of a drill as expected', async () => {
  const acme = openClient(stack);
  const port = await findPort();
  const url = `http://127.0.0.1:${port}/`;
  const { body } = await acme.post('/webhook-events', { url, events: ['supplier.created'] });
  const { id, secret } = body as { id: string; secret: string };
  await using _receiver = await startReceiver(
    ['python3', resolve('test/support/flask-receiver.py')],
    port,
    secret,
  );
  expect(await failedInDrill(acme, id)).toEqual([]);
});

it('the receiver of npm run receive verifies both signatures of a delivery, and gets retries', async () => {
  const acme = openClient(stack);
  const child = spawn(
    process.execPath,
    [resolve('dev/receive.ts'), '--integration', acme.integration, '--fail', '1', '--host', '0.0.0.0'],
    {
      env: { ...process.env, GATEWAY_URL: stack.gateway, AUTH_JWT_SECRET: stack.authSecret },
    },
  );
  let printed = '';
  child.stdout.on('data', (chunk: Buffer) => (printed += chunk.toString()));
  const [ready] = (await once(child.stderr, 'data')) as [Buffer];
  expect(ready.toString()).toMatch(/^wh_\w+ is registered for \S+ at http:\/\/127\.0\.0\.1:\d+\//);
  expect(ready.toString()).toContain(` is registered for ${acme.integration} at `);
  await acme.post('/suppliers', { suppliers: [{ externalId: 'S-1', name: 'One' }] });
  const lines = await eventually(
    () => printed.split('\n').slice(0, -1),
    (all) => all.length >= 3,
  );
  expect(lines.map((line) => line.split(' ').slice(0, 2).join(' '))).toEqual([
    '500 genuine',
    '204 genuine',
    '204 genuine',
  ]);
  const { body } = await acme.get('/webhook-events');
  const [registered] = (body as { entities: { id: string }[] }).entities;
  expect(await failedInDrill(acme, registered?.id ?? '')).toEqual([]);
  const exited = once(child, 'exit');
  child.kill('SIGINT');
  expect((await exited)[0]).toBe(0);
  expect((await acme.get('/webhook-events')).body).toMatchObject({ total: 0 });
});
