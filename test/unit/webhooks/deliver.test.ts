// What becomes of an event and of its endpoint's circuit after one attempt.
import { openLog } from '@integration-sync/runtime/log';
import { expect, it } from 'vitest';
import { Deliverer } from '../../../services/webhooks/src/delivering/deliver.ts';
import type { EndpointQueue } from '../../../services/webhooks/src/delivering/endpoint-queue.ts';
import type { Next } from '../../../services/webhooks/src/delivering/policy.ts';
import { openEndpointCache } from '../../../services/webhooks/src/endpoints/cache.ts';
import type { Missed, Trial } from '../../../services/webhooks/src/endpoints/endpoint.ts';
import { openVault } from '../../../services/webhooks/src/secrets/vault.ts';
import { openRetry } from '@integration-sync/runtime/retry';
import { batchOf, openEndpoint, queueOf } from '../../support/webhook-parts.ts';
import { secretKey } from '../../support/webhooks.ts';

const log = openLog({ service: 'test', level: 'silent' });
const failed = { verdict: 'failed', responseStatus: 500, error: 'the receiver answered 500' } as const;
const succeeded = { verdict: 'succeeded', responseStatus: 204, error: null } as const;

interface Attempt {
  outcome?: typeof failed | typeof succeeded;
  next?: Next;
  /** The mark of the endpoint as it is stored after a failure. */
  mark?: number;
  isCircuitClosed?: boolean;
  throws?: Error;
  /** The attempt is cut off while it is in flight. */
  cutOff?: boolean;
  /** The epoch of the endpoint that the look-up finds. */
  epoch?: number;
  active?: boolean;
  /** How many attempts of the event turn out to be used up while the endpoint is looked up. */
  usedUp?: number;
  /** What another attempt of the endpoint does while the outcome of this attempt waits to be stored. */
  meanwhile?: (queue: EndpointQueue) => void;
}

async function attempt({
  outcome = failed,
  next,
  mark = 1,
  isCircuitClosed = true,
  throws,
  cutOff = false,
  epoch = 0,
  active = true,
  usedUp = 0,
  meanwhile = () => undefined,
}: Attempt) {
  const vault = openVault(secretKey);
  const endpoint = { ...openEndpoint('wh_1'), secret: vault.seal('whsec_AAAA', 'wh_1') };
  const attempts = new AbortController();
  const { queue } = queueOf(endpoint, [batchOf(1, 2)], { attempts });
  queue.isCircuitClosed = isCircuitClosed;
  let uncounted = 0;
  let successes = 0;
  let sent = 0;
  let tried: Trial | undefined;
  let missed: Missed | null | undefined;
  const deliverer = new Deliverer({
    async send() {
      sent += 1;
      if (cutOff) attempts.abort();
      if (throws !== undefined) throw throws;
      return { ...outcome, at: new Date(), durationMs: 1 };
    },
    cache: openEndpointCache(
      {
        async findAll() {
          queue.adopt([{ stream: 'one', sequence: 1, index: 0, attempts: usedUp, dueAtMs: 5_000 }], 0, 0);
          return [{ ...endpoint, active, epoch }];
        },
      },
      vault,
    ),
    recorder: {
      async succeeded() {
        successes += 1;
        meanwhile(queue);
      },
      async failed(one) {
        meanwhile(queue);
        tried = one.tried;
        missed = one.missed();
        return next === undefined ? {} : { next, after: { ...endpoint, isCircuitClosed: false, mark } };
      },
    },
    report: () => undefined,
    onRecorded: () => undefined,
    onUncounted: () => void (uncounted += 1),
    mayBegin: () => true,
    retry: openRetry(log, new AbortController().signal),
    log,
  });
  const step = queue.next(0, 8);
  if (step.kind !== 'deliver') throw new Error(step.kind);
  queue.begin(step.delivery, 0);
  await deliverer.deliver(queue, step.delivery, step.event);
  return {
    queue,
    delivery: step.delivery,
    uncounted,
    successes,
    sent,
    tried,
    missed,
    open: queue.find({ sequence: 1, index: 0 }),
  };
}

const close = (queue: EndpointQueue): void => void (queue.isCircuitClosed = true);
const fail = (queue: EndpointQueue): void => void (queue.mark += 1);
const handOver = (queue: EndpointQueue): void => void (queue.isEnded = true);
const again = { event: 'again', failures: 1, disable: undefined } as const;

it('a success asks the database nothing where the circuit is closed', async () => {
  expect(await attempt({ outcome: succeeded })).toMatchObject({
    uncounted: 0,
    successes: 0,
    open: undefined,
  });
});

it('a success closes the circuit, in the database first', async () => {
  const { queue, successes } = await attempt({ outcome: succeeded, isCircuitClosed: false });
  expect([queue.isCircuitClosed, successes]).toEqual([true, 1]);
});

it('a failure that counts opens the circuit, and its event is on trial', async () => {
  const { queue, open, uncounted, tried } = await attempt({ next: { ...again, circuit: 'open' } });
  expect([queue.isCircuitClosed, queue.mark, uncounted]).toEqual([false, 1, 0]);
  expect(tried).toMatchObject({ stream: 'one', sequence: 1, index: 0, attempts: 1 });
  expect(open).toMatchObject({ attempts: 1, isTrial: true, inFlightSince: undefined });
});

it('a failure that counts opens the circuit that a success has closed before the failure was stored', async () => {
  const { queue } = await attempt({ next: { ...again, circuit: 'open' }, meanwhile: close });
  expect(queue.isCircuitClosed).toBe(false);
});

it('a success leaves the circuit open that a failure has opened while the success was stored', async () => {
  const { queue } = await attempt({ outcome: succeeded, isCircuitClosed: false, meanwhile: fail });
  expect(queue.isCircuitClosed).toBe(false);
});

it('one that does not count leaves the circuit, and is to be stored', async () => {
  const { queue, open, uncounted } = await attempt({ mark: 0, next: { ...again, circuit: 'unchanged' } });
  expect([queue.isCircuitClosed, uncounted]).toEqual([true, 1]);
  expect(open).toMatchObject({ attempts: 1, isTrial: false });
});

it('one that does not count opens the circuit where the queue had not heard of the failure before', async () => {
  const { queue, uncounted } = await attempt({ mark: 1, next: { ...again, circuit: 'unchanged' } });
  expect([queue.isCircuitClosed, queue.mark, uncounted]).toEqual([false, 1, 1]);
});

it('the event of a last attempt is finished', async () => {
  const { open, uncounted } = await attempt({ next: { ...again, event: 'given up', circuit: 'open' } });
  expect([open, uncounted]).toEqual([undefined, 0]);
});

it('an attempt that could not be sent is no attempt', async () => {
  const { queue, open } = await attempt({ throws: new Error('the proxy is away') });
  expect([queue.isCircuitClosed, queue.inFlight]).toEqual([true, 0]);
  expect(open).toMatchObject({ attempts: 0 });
});

it('an event that its endpoint misses stays open', async () => {
  expect(await attempt({ active: false })).toMatchObject({ open: { attempts: 0 }, sent: 0 });
  const missed = { ...again, event: 'missed', circuit: 'unchanged' } as const;
  expect(await attempt({ next: missed })).toMatchObject({ open: { attempts: 1 }, uncounted: 0 });
});

it('an attempt that disables leaves the missed events to the owner, where that is another replica by then', async () => {
  const next = { ...again, event: 'missed', circuit: 'open', disable: 'gone' } as const;
  expect((await attempt({ next })).missed).toMatchObject({
    stream: 'one',
    open: [{ sequence: 1, index: 0 }],
  });
  expect((await attempt({ next, meanwhile: handOver })).missed).toBeNull();
});

it('an attempt that is cut off is not used up, and its event stays due', async () => {
  const { queue, open } = await attempt({ throws: new Error('the partition is given back'), cutOff: true });
  expect([queue.inFlight, open]).toMatchObject([0, { attempts: 0, dueAt: 0 }]);
});

it('an endpoint that was disabled and enabled meanwhile gets no event of before', async () => {
  expect(await attempt({ epoch: 1 })).toMatchObject({ sent: 0, open: { attempts: 0 } });
});

it('one that does not count leaves the circuit open where another attempt heard of the failure before', async () => {
  const { queue } = await attempt({ next: { ...again, circuit: 'unchanged' }, meanwhile: fail });
  expect([queue.isCircuitClosed, queue.mark]).toEqual([false, 1]);
});

it('an event that another replica has tried meanwhile waits for its next attempt', async () => {
  const waiting = await attempt({ usedUp: 1 });
  expect(waiting).toMatchObject({ sent: 0, open: { attempts: 1, dueAt: 5_000 } });
  expect([waiting.queue.inFlight, waiting.queue.next(4_000, 8)]).toMatchObject([0, { kind: 'deliver' }]);
  const givenUp = await attempt({ usedUp: 4 });
  expect(givenUp).toMatchObject({ sent: 0, open: undefined });
  expect(givenUp.queue.inFlight).toBe(0);
});
