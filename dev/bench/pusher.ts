// Pushes of new suppliers from a process of its own. A caller makes 100 KB for each push and collects as much, and would hold up
// what is measured beside it in the same process.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

export interface PusherOptions {
  gateway: string;
  token: string;
  /** So many pushes are in flight. */
  lanes: number;
}

/** To the process. */
export type PusherOrder = 'start' | 'stop';
/** By the process: a push was answered, or the last one was. */
export type PusherReport = 'pushed' | 'stopped';

export interface Pusher extends AsyncDisposable {
  start(): void;
  /** Pushes per second while `work` goes on. */
  during(work: () => Promise<unknown>): Promise<number>;
  /** Resolves once the last push is answered. */
  stop(): Promise<void>;
}

const program = fileURLToPath(new URL('pusher-process.ts', import.meta.url));

export function openPusher({ gateway, token, lanes }: PusherOptions): Pusher {
  const environment = { PUSHER_GATEWAY: gateway, PUSHER_TOKEN: token, PUSHER_LANES: String(lanes) };
  const child = fork(program, { env: { ...process.env, ...environment } });
  const exited = once(child, 'exit');
  const failed = exited.then(() => Promise.reject(new Error('the process that pushes has ended')));
  failed.catch(() => undefined);
  let pushed = 0;
  let stopped = Promise.withResolvers<void>();
  child.on('message', (report: PusherReport) => {
    if (report === 'pushed') pushed += 1;
    else stopped.resolve();
  });
  const order = (what: PusherOrder): void => void child.send(what);
  return {
    start: () => order('start'),
    async during(work) {
      const [before, began] = [pushed, performance.now()];
      await Promise.race([work(), failed]);
      return ((pushed - before) / (performance.now() - began)) * 1_000;
    },
    async stop() {
      stopped = Promise.withResolvers();
      order('stop');
      await Promise.race([stopped.promise, failed]);
    },
    async [Symbol.asyncDispose]() {
      child.kill();
      await exited;
    },
  };
}
