// Pushes of new suppliers from a process of its own. A caller makes 100 KB for each push and collects as much, and would hold up
// what is measured beside it in the same process.
import { startChild } from './children.ts';

/** To the process, which says how many pushes were answered; to `stop` once the last one was. */
export type PusherOrder = 'start' | 'count' | 'stop';

export interface Pusher extends AsyncDisposable {
  start(): Promise<void>;
  /** Pushes per second while `work` goes on. */
  during(work: () => Promise<unknown>): Promise<number>;
  /** Resolves once the last push is answered. */
  stop(): Promise<void>;
}

/** Keeps so many pushes in flight. */
export async function openPusher(gateway: string, token: string, lanes: number): Promise<Pusher> {
  const child = await startChild('pusher-process.ts', [gateway, token, `${lanes}`]);
  const order = async (what: PusherOrder): Promise<number> => Number(await child.ask({ order: what }));
  return {
    start: async () => void (await order('start')),
    async during(work) {
      const [before, began] = [await order('count'), performance.now()];
      await work();
      return (((await order('count')) - before) / (performance.now() - began)) * 1_000;
    },
    stop: async () => void (await order('stop')),
    [Symbol.asyncDispose]: () => child[Symbol.asyncDispose](),
  };
}
