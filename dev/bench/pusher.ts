// Pushes new suppliers from a process of its own: making 100 KB for each push, and collecting them as garbage, would
// delay what is measured in the process of the benchmark.
import { startChild } from './children.ts';

/** The process replies to each order with the number of answered pushes; to `stop` only after the last answer. */
export type PusherOrder = 'start' | 'count' | 'stop';

export interface Pusher extends AsyncDisposable {
  start(): Promise<void>;
  /** Pushes per second while `work` goes on. */
  during(work: () => Promise<unknown>): Promise<number>;
  /** Resolves once the last push is answered. */
  stop(): Promise<void>;
}

/** Keeps `lanes` pushes in flight. */
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
