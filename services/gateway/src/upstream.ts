// The NATS connection to the services. A starting gateway waits for NATS for 2 s, and then serves without NATS: every request is
// answered 503 until NATS is there. Other causes of a 503, in shared/runtime: no service (bus/failures.ts), a busy
// service (fair-queue.ts, after the 2 s of bus/serve.ts), and no database (store/database-errors.ts). `Retry-After`: problems.ts.
import { setTimeout as wait } from 'node:timers/promises';
import { Failure } from '@integration-sync/contracts';
import {
  openBus,
  type Bus,
  type BusOptions,
  type Reply,
  type RequestOptions,
} from '@integration-sync/runtime/bus';
import type { Build } from '@integration-sync/runtime/build';

export type Upstream = Awaited<ReturnType<typeof openUpstream>>;

/** The bytes of a message that are kept for its headers: more than the headers of an HTTP request can have. */
const messageHeaderBytesMax = 64 * 1024;

const firstConnectMs = 2_000;

export async function openUpstream({
  build,
  ...options
}: Omit<BusOptions, 'name' | 'observe' | 'signal'> & { build: Build }) {
  let bus: Bus | undefined;
  /** The entry of this gateway in the list of services. */
  let listed: AsyncDisposable | undefined;
  const release = new AbortController();
  const isReleased = (): boolean => release.signal.aborted;
  const opening = openBus({ ...options, name: 'gateway', signal: release.signal }).then(async (opened) => {
    if (isReleased()) return opened[Symbol.asyncDispose]();
    bus = opened;
    // The gateway answers no NATS subject, but `nats micro ls` lists its replicas beside those of the services.
    const identity = { service: 'gateway', description: 'The public interface', ...build };
    const serving = await bus.serve({ ...identity, inFlightMax: 1, handlers: {} });
    if (isReleased()) return serving[Symbol.asyncDispose]();
    listed = serving;
  });
  opening.catch((error: unknown) => {
    if (!isReleased()) options.log.error({ err: error }, 'the connection to NATS cannot be opened');
  });
  await Promise.race([opening, wait(firstConnectMs, undefined, { ref: false })]);

  return {
    get connected(): boolean {
      return bus?.connected ?? false;
    },
    /** How many bytes of a body fit into one NATS message besides the headers. */
    get bodyBytesMax(): number {
      return bus === undefined ? Infinity : bus.maxPayloadBytes - messageHeaderBytesMax;
    },
    async request(subject: string, request: RequestOptions): Promise<Reply> {
      if (bus === undefined) throw new Failure('unavailable', 'The message bus is away; try again shortly.');
      return bus.request(subject, request);
    },
    answerNow(): void {
      if (bus?.connected === true) bus.answerNow();
    },
    askAll: async (subject: string, forMs: number) => (await bus?.askAll(subject, forMs)) ?? [],
    async [Symbol.asyncDispose](): Promise<void> {
      release.abort();
      // The gateway's entry in the list of services has no requests to answer: a lost connection is no failure of the stop.
      await Promise.resolve(listed?.[Symbol.asyncDispose]()).catch(() => undefined);
      await bus?.[Symbol.asyncDispose]();
    },
  };
}
