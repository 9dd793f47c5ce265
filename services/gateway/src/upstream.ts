// The way to the services. The gateway gives NATS a moment to be there, and then serves without it: until it
// comes, every request is told so at once.
import { setTimeout as wait } from 'node:timers/promises';
import { Failure } from '@integration-sync/contracts';
import { openBus, type Bus, type Reply, type RequestOptions } from '@integration-sync/runtime/bus';
import type { Log } from '@integration-sync/runtime/log';

export interface Upstream extends AsyncDisposable {
  readonly connected: boolean;
  /** What fits into one message beside its headers. */
  readonly bodyBytesMax: number;
  request(subject: string, options: RequestOptions): Promise<Reply>;
  /** What the replicas that have something to say say within that time. */
  askAll(subject: string, forMs: number): Promise<Uint8Array[]>;
}

/** More than the headers of an HTTP request can be. */
const headerBytesMax = 64 * 1024;

/** It answers nothing over the bus, but `nats micro ls` should list its replicas beside the others. */
const identity = { service: 'gateway', version: '1.0.0', description: 'The public interface' };

const firstConnectMs = 2_000;

export async function openUpstream(options: { url: string; log: Log }): Promise<Upstream> {
  let bus: Bus | undefined;
  let released = false;
  const opening = openBus({ ...options, name: 'gateway' }).then(async (opened) => {
    if (released) return opened[Symbol.asyncDispose]();
    bus = opened;
    await bus.serve({ ...identity, inFlightMax: 1, handlers: {} });
  });
  opening.catch((error: unknown) => options.log.error({ err: error }, 'the bus cannot be opened'));
  const patience = new AbortController();
  await Promise.race([opening, wait(firstConnectMs, undefined, { signal: patience.signal })]);
  patience.abort();

  return {
    get connected() {
      return bus?.connected ?? false;
    },
    get bodyBytesMax() {
      return bus === undefined ? Infinity : bus.maxPayloadBytes - headerBytesMax;
    },
    async request(subject, request) {
      if (bus === undefined) {
        throw new Failure('unavailable', 'The message bus is away; try again shortly.', {
          retryAfterSeconds: 1,
        });
      }
      return bus.request(subject, request);
    },
    askAll: async (subject, forMs) => (await bus?.askAll(subject, forMs)) ?? [],
    async [Symbol.asyncDispose]() {
      released = true;
      await bus?.[Symbol.asyncDispose]();
    },
  };
}
