// A connection to NATS with which a test sends and answers requests. It logs nothing.
import { openBus, type Bus, type FollowOptions, type Reading } from '@integration-sync/runtime/bus';
import { openLog } from '@integration-sync/runtime/log';

export async function openTestBus(url: string, name = 'test'): Promise<Bus> {
  const bus = await openBus({ url, name, log: openLog({ service: name, level: 'silent' }) });
  // A request is of one integration, whatever a test asks for.
  const request: Bus['request'] = (subject, options) =>
    bus.request(subject, { ...options, headers: { integration: 'test', ...options.headers } });
  const open: Bus = Object.create(bus, { request: { value: request } });
  return open;
}

export interface Follower extends Reading {
  /** The bodies of the messages read so far, in the order of the stream. */
  readonly seen: readonly string[];
}

/** Reads a stream from its beginning on, each message once. */
export function openFollower(
  bus: Bus,
  stream: string,
  { filters, ...options }: { filters: readonly string[] } & Partial<FollowOptions>,
): Follower {
  const [subject = '>'] = filters;
  const seen: string[] = [];
  let next = 1;
  const reading = bus.follow(stream, {
    from: () => Promise.resolve(next),
    subject,
    isMeant: () => true,
    ahead: 16,
    ensure: () => Promise.resolve(),
    ...options,
    async onMessage(message) {
      await options.onMessage?.(message);
      seen.push(text(message.body));
      next = message.sequence + 1;
    },
  });
  return {
    seen,
    get failingForMs() {
      return reading.failingForMs;
    },
    [Symbol.asyncDispose]: () => reading[Symbol.asyncDispose](),
  };
}

export const text = (body: Uint8Array): string => new TextDecoder().decode(body);
