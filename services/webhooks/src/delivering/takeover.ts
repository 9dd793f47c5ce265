// What follows where partitions come to this replica, go to another one, or are lost to it; and what replicas say to each other
// of endpoints meanwhile.
//
//   partitions are   this replica
//   ───────────────  ──────────────────────────────────────────────────────────────────────────────────────────────────
//   taken            opens the queues of endpoints that are behind, at their offsets; reads from the floors on
//   released         reads no more of them, begins nothing, waits for what ends soon, and stores what is undelivered; what
//                    hangs stays in flight here, and its next owner hears how it ended
//   lost             forgets them
import { setTimeout as wait } from 'node:timers/promises';
import { endpointChangedSubject, requestHeaders } from '@integration-sync/contracts';
import type { Broadcast, Bus } from '@integration-sync/runtime/bus';
import type { Log } from '@integration-sync/runtime/log';
import type { EndpointCache } from '../endpoints/cache.ts';
import type { Endpoint } from '../endpoints/endpoint.ts';
import type { LogPoint, Offsets } from '../log/offsets.ts';
import type { LogReader } from '../log/reader.ts';
import type { OwnershipChanges } from '../owning/ownership.ts';
import type { EndpointQueue } from './endpoint-queue.ts';
import type { ActiveIntegration, Integrations } from './integrations.ts';
import type { Progress } from './progress.ts';

/** What hangs at a handover stays with the old owner; what does not ends within this time. */
const handoverMs = 500;
const handoverPollMs = 10;
const deliveredSubject = 'webhooks.event.delivered';

export interface TakeoverOptions {
  integrations: Integrations;
  progress: Pick<Progress, 'handOver'>;
  reader: Pick<LogReader, 'add' | 'remove'>;
  tellDelivered: TellDelivered;
}

export const openTakeover = ({
  integrations,
  progress,
  reader,
  tellDelivered,
}: TakeoverOptions): OwnershipChanges => ({
  async onTaken(taken, offsets) {
    await integrations.begin(taken, offsets);
    await reader.add(taken);
  },
  async onReleased(released) {
    await reader.remove(released);
    const ended = integrations.ofPartitions(released);
    const resume = pause(ended);
    try {
      await settled(ended);
      const inFlight = await progress.handOver(ended);
      return async () => {
        integrations.end(released);
        // What has ended since; what ends later says so itself.
        const since = inFlight.filter(({ queue, point }) => queue.find(point) === undefined);
        await Promise.all(since.map(({ queue, point }) => tellDelivered(queue, point)));
      };
    } catch (error) {
      resume();
      await reader.add(released);
      throw error;
    }
  },
  async onLost(lost) {
    integrations.end(lost);
    await reader.remove(lost);
  },
  onAlive: (alive) => integrations.freeFrom((replica) => alive.includes(replica)),
});

/** Nothing begins for these. */
function pause(integrations: readonly ActiveIntegration[]): () => void {
  const queues = integrations.flatMap((one) => [...one.queues.values()]);
  for (const queue of queues) queue.pauses += 1;
  return () => {
    for (const queue of queues) queue.pauses -= 1;
  };
}

const isIdle = ({ queues }: ActiveIntegration): boolean =>
  queues.values().every(({ inFlight }) => inFlight === 0);

async function settled(integrations: readonly ActiveIntegration[]): Promise<void> {
  const endMs = performance.now() + handoverMs;
  while (!integrations.every(isIdle) && performance.now() < endMs) await wait(handoverPollMs);
}

export type TellDelivered = (queue: EndpointQueue, point: LogPoint) => Promise<void>;

/** It was in flight when the partition was handed over. A next owner that has not read the offset yet finds it done. */
export const openTellDelivered =
  (bus: Pick<Bus, 'broadcast'>, offsets: Pick<Offsets, 'delivered'>, log: Log): TellDelivered =>
  async ({ integration, id }, point) => {
    await offsets.delivered(integration, id, point).catch(noted(log, id));
    bus.broadcast(deliveredSubject, JSON.stringify([integration, id, point.sequence, point.index]));
  };

/** The endpoint has changed: said to this replica and all others. */
export type TellChanged = (endpoint: Pick<Endpoint, '_id' | 'integration'>) => void;

export const openTellChanged =
  (bus: Pick<Bus, 'broadcast'>, self: string, cache: Pick<EndpointCache, 'forget'>): TellChanged =>
  ({ _id, integration }) => {
    cache.forget(_id);
    bus.broadcast(endpointChangedSubject, _id, {
      replica: self,
      [requestHeaders.integration]: integration,
    });
  };

interface Listening {
  cache: Pick<EndpointCache, 'forget' | 'forgetAll'>;
  integrations: Pick<Integrations, 'refresh' | 'delivered'>;
  log: Log;
}

/** Hears from the other replicas which endpoints have changed, and what they delivered of what is this one's now. */
export function listenForChanges(
  bus: Pick<Bus, 'listen'>,
  self: string,
  { cache, integrations, log }: Listening,
): Disposable {
  const stack = new DisposableStack();
  const onChanged = ({ body, headers }: Broadcast): void => {
    if (headers.get('replica') === self) return;
    const id = Buffer.from(body).toString();
    cache.forget(id);
    const integration = headers.get(requestHeaders.integration);
    if (integration !== undefined) void integrations.refresh(integration, id).catch(noted(log, id));
  };
  const onDelivered = ({ body }: Broadcast): void => {
    const said: [string, string, number, number] = JSON.parse(Buffer.from(body).toString());
    const [integration, endpointId, sequence, index] = said;
    integrations.delivered(integration, endpointId, { sequence, index });
  };
  stack.use(bus.listen(endpointChangedSubject, onChanged, cache.forgetAll));
  stack.use(bus.listen(deliveredSubject, onDelivered));
  return stack;
}

/** The next look-up finds it. */
export const noted =
  (log: Log, endpoint: string) =>
  (error: unknown): void =>
    log.debug({ err: error, endpoint }, 'a change of an endpoint is not known yet');
