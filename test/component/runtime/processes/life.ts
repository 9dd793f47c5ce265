// A process for lifecycle.test.ts: its argument names the life that it goes through, and it says what it
// does.
import { ConfigError } from '@integration-sync/runtime/config';
import { runProcess, type LifeOptions, type Start } from '@integration-sync/runtime/lifecycle';
import { setTimeout as wait } from 'node:timers/promises';

const say = (words: string): void => void process.stdout.write(`${words}\n`);
const never = new Promise<never>(() => {});

function resource(name: string, release: () => unknown = () => {}): AsyncDisposable {
  const alive = setInterval(() => {}, 1_000);
  return {
    async [Symbol.asyncDispose]() {
      say(`releasing ${name}`);
      clearInterval(alive);
      await release();
      say(`released ${name}`);
    },
  };
}

/** Starts one resource upon another, as services do, and returns both. */
async function started(upper: AsyncDisposable): Promise<AsyncDisposable> {
  await using stack = new AsyncDisposableStack();
  stack.use(resource('database'));
  stack.use(upper);
  say('started');
  return stack.move();
}

const lives: Record<string, { start: Start; deadlines?: LifeOptions }> = {
  serves: { start: () => started(resource('server', () => wait(50))) },
  'serves on without a reader': {
    async start() {
      const alive = setInterval(() => {}, 1_000);
      process.stderr.write('started\n');
      return { [Symbol.asyncDispose]: async () => clearInterval(alive) };
    },
  },
  'never releases': { start: () => started(resource('server', () => never)) },
  'never releases, with little patience': {
    start: () => started(resource('server', () => never)),
    deadlines: { stopMs: 200 },
  },
  'fails to release': {
    start: () =>
      started(
        resource('server', () => {
          throw new Error('still in use');
        }),
      ),
  },
  'has wrong settings': {
    start: () =>
      Promise.reject(new ConfigError(['PORT: expected an integer', 'URL: no mongodb://root:hunter2@db'])),
  },
  'fails half-way': {
    async start() {
      await using stack = new AsyncDisposableStack();
      stack.use(resource('database'));
      stack.use(resource('bus'));
      await wait(10);
      throw new Error('no room', { cause: new Error('the disk is full') });
    },
  },
  'waits for an engine': {
    async start() {
      say('waiting');
      return await wait(60_000, resource('engine'));
    },
    deadlines: { startMs: 200 },
  },
  'gives up waiting at the signal': {
    async start(stopping) {
      say('waiting');
      return await wait(60_000, resource('engine'), { signal: stopping });
    },
  },
  'starts a moment after the signal': {
    async start() {
      say('waiting');
      await wait(300);
      return await started(resource('server'));
    },
  },
  'throws later': {
    async start() {
      setTimeout(() => {
        throw new Error('a defect');
      }, 10);
      return await started(resource('server', () => wait(50)));
    },
  },
  'rejects later': {
    async start() {
      setTimeout(() => void Promise.reject(new Error('a rejection without a handler')), 10);
      return await started(resource('server', () => wait(50)));
    },
  },
  'throws while it starts': {
    async start() {
      setTimeout(() => {
        throw new Error('a defect');
      }, 10);
      return await wait(60_000, resource('engine'));
    },
    deadlines: { startMs: 200 },
  },
  'throws while it stops': {
    start: () =>
      started(
        resource('server', async () => {
          setTimeout(() => {
            throw new Error('a defect');
          }, 10);
          await wait(50);
        }),
      ),
  },
};

const life = lives[process.argv[2] ?? ''];
if (life === undefined) throw new Error(`there is no life ${process.argv[2]}`);
await runProcess('catalog', life.start, life.deadlines);
