// What becomes of an event, of its endpoint and of what MongoDB has, after one attempt.
import { setImmediate } from 'node:timers/promises';
import { Failure } from '@integration-sync/contracts';
import { openLog } from '@integration-sync/runtime/log';
import { openRetry } from '@integration-sync/runtime/retry';
import { expect, it } from 'vitest';
import { Attempts } from '../../../services/webhooks/src/delivering/attempt.ts';
import { applied, begins } from '../../../services/webhooks/src/delivering/delivery-state.ts';
import type { EndpointQueue } from '../../../services/webhooks/src/delivering/endpoint-queue.ts';
import { openEndpointCache } from '../../../services/webhooks/src/endpoints/cache.ts';
import type { Endpoint } from '../../../services/webhooks/src/endpoints/endpoint.ts';
import { openVault, UnknownKey } from '../../../services/webhooks/src/secrets/vault.ts';
import type { Outcome } from '../../../services/webhooks/src/sending/attempt-outcome.ts';
import { batchOf, openEndpoint, queueOf } from '../../support/webhook-parts.ts';
import { secretKey } from '../../support/webhooks.ts';

const log = openLog({ service: 'test', level: 'silent' });
const failed = { verdict: 'failed', responseStatus: 500, error: 'the receiver answered 500' } as const;
const succeeded = { verdict: 'succeeded', responseStatus: 204, error: null } as const;
const gone = { verdict: 'gone', responseStatus: 410, error: 'gone' } as const;

interface Made {
  outcome?: Outcome;
  isCircuitClosed?: boolean;
  failures?: number;
  throws?: Error;
  /** Happens while the endpoint is looked up, while the attempt is in flight, or before its first change is stored. */
  lookUp?: (one: Parts) => void;
  inFlight?: (one: Parts) => void;
  beforeStore?: (one: Parts) => void;
  /** How often MongoDB's answer to a change is lost. */
  lostAnswers?: number;
  /** Attempts at both events of the endpoint end together. */
  both?: boolean;
}

interface Parts {
  queue: EndpointQueue;
  stored: Endpoint | null;
  attempts: AbortController;
}

const term = 1;

/** Makes one attempt at the first of two events of an endpoint. */
async function make({
  outcome = failed,
  isCircuitClosed = true,
  failures = 0,
  throws,
  lookUp,
  inFlight,
  beforeStore,
  lostAnswers = 0,
  both = false,
}: Made) {
  const vault = openVault(secretKey);
  const endpoint: Endpoint = {
    ...openEndpoint('wh_1'),
    secret: vault.seal('whsec_AAAA', 'wh_1'),
    open: isCircuitClosed,
    failures,
  };
  const attempts = new AbortController();
  const { queue } = queueOf(endpoint, [batchOf(1, 2)], { cutOff: () => attempts.signal });
  const parts: Parts = { queue, stored: endpoint, attempts };
  const asked: string[] = [];
  const reported: unknown[] = [];
  let storedSoon = 0;
  let lost = lostAnswers;
  /** As the condition of an owner's update has it (endpoints/endpoint-store.ts). */
  const store = (read: { version: number; epoch: number }, change: Partial<Endpoint>): boolean => {
    if (asked.length === 1) beforeStore?.(parts);
    const { stored } = parts;
    if (stored?.version !== read.version || stored.epoch !== read.epoch || (stored.term ?? 0) > term)
      return false;
    parts.stored = { ...stored, ...change };
    lost -= 1;
    if (lost >= 0) throw new Error('the answer was lost');
    return true;
  };
  const made = new Attempts({
    async send() {
      inFlight?.(parts);
      if (throws !== undefined) throw throws;
      return { ...outcome, at: new Date(), durationMs: 1 };
    },
    cache: openEndpointCache(
      {
        async findAll() {
          lookUp?.(parts);
          return parts.stored === null ? [] : [parts.stored];
        },
      },
      vault,
    ),
    endpoints: {
      async find() {
        asked.push('find');
        return parts.stored;
      },
      async recordState(read, { isCircuitClosed: isClosed, failures: count, trials }) {
        asked.push('update');
        return store(read, { open: isClosed, failures: count, trials: [...trials], term });
      },
      async disable(read, how) {
        asked.push('disable');
        const { version, epoch } = read;
        const change = {
          active: false,
          disabledReason: how.reason,
          failures: how.failures,
          version: version + 1,
          epoch: epoch + 1,
        };
        return store(read, { ...change, missed: { [epoch]: how.missed } });
      },
      async recordMissed() {
        asked.push('missed');
      },
    },
    report: ({ nextAttemptAt }, step) =>
      void reported.push([step?.event, step?.disable, nextAttemptAt !== null]),
    onRead(of, found) {
      of.isDeleted = found === null;
      of.isEnded = found === null || (found.term ?? 0) > term;
      if (found === null || of.isEnded) return;
      const before = of.state;
      of.state = applied(before, found);
      if (begins(before, of.state)) of.reset(9);
    },
    storeSoon: () => void (storedSoon += 1),
    announce: () => undefined,
    metrics: { disabledBy: () => undefined },
    mayBegin: () => true,
    retry: openRetry(log, new AbortController().signal),
    log,
  });
  const makeNext = (): Promise<void> => {
    const next = queue.next(0, 8);
    if (next.kind !== 'deliver') throw new Error(next.kind);
    queue.begin(next.delivery, 0);
    return made.make(queue, next.delivery, next.event);
  };
  await Promise.all(both ? [makeNext(), makeNext()] : [makeNext()]);
  const event = queue.find({ sequence: 1, index: 0 });
  return { queue, asked, reported, storedSoon, event, stored: parts.stored, notes: made.notes() };
}

const change = (parts: Parts, more: Partial<Endpoint>): void => {
  if (parts.stored !== null) parts.stored = { ...parts.stored, version: parts.stored.version + 1, ...more };
};

it('a successful delivery sends no command to MongoDB while the endpoint’s circuit is closed', async () => {
  expect(await make({ outcome: succeeded })).toMatchObject({
    asked: [],
    event: undefined,
    reported: [['delivered', undefined, false]],
  });
});

it('a success closes the circuit, in MongoDB first', async () => {
  const { asked, queue, stored } = await make({ outcome: succeeded, isCircuitClosed: false, failures: 3 });
  expect([asked, queue.state.isCircuitClosed, stored]).toMatchObject([
    ['update'],
    true,
    { open: true, failures: 0 },
  ]);
});

it('a counted failure is one update, opens the circuit, and makes its event the trial', async () => {
  const { asked, queue, stored, event } = await make({});
  expect(asked).toEqual(['update']);
  expect(queue.state).toMatchObject({ isCircuitClosed: false, failures: 1, round: 1 });
  expect(stored).toMatchObject({
    open: false,
    failures: 1,
    term: 1,
    trials: [{ sequence: 1, index: 0, attempts: 1 }],
  });
  expect(event).toMatchObject({ attempts: 1, isTrial: true, inFlightSince: undefined });
});

it('of two concurrent failures only one counts towards the disabling', async () => {
  const { asked, queue, stored, storedSoon } = await make({ both: true });
  expect([asked, queue.state.failures, stored?.failures, storedSoon]).toEqual([['update'], 1, 1, 1]);
});

it('no attempt begins while an outcome is being stored', async () => {
  const next: string[] = [];
  await make({ beforeStore: ({ queue }) => void next.push(queue.next(0, 8).kind) });
  expect(next).toEqual(['nothing']);
});

it('an update whose answer was lost is repeated, and counts once', async () => {
  const { asked, queue, stored } = await make({ lostAnswers: 2 });
  expect([asked, queue.state.failures, stored?.failures]).toEqual([['update', 'update', 'update'], 1, 1]);
});

it('a disabling whose answer from MongoDB was lost is found in MongoDB, and not repeated', async () => {
  const { asked, queue, stored, reported } = await make({ outcome: gone, lostAnswers: 1 });
  expect([asked, queue.state.isActive, stored?.epoch]).toEqual([['disable', 'disable', 'find'], false, 1]);
  expect(reported).toEqual([['missed', undefined, false]]);
});

it('a failure that does not count stores no outcome, and leaves the circuit unchanged', async () => {
  const { asked, queue, storedSoon, event } = await make({
    inFlight: (one) => void (one.queue.state = { ...one.queue.state, round: 5 }),
  });
  expect([asked, queue.state.isCircuitClosed, storedSoon, event?.attempts]).toEqual([[], true, 1, 1]);
});

it('the tenth failure disables the endpoint, and stores from which event on the endpoint misses events', async () => {
  const { asked, stored, queue, event } = await make({ failures: 9 });
  expect([asked, queue.state.isActive]).toEqual([['disable'], false]);
  expect(stored).toMatchObject({
    active: false,
    failures: 10,
    missed: { 0: { open: [{ sequence: 1, index: 0 }] } },
  });
  expect(event).toBeDefined();
});

it('an event whose endpoint was disabled and enabled while the owner looked the endpoint up is not sent', async () => {
  const { reported, queue } = await make({
    lookUp({ queue: of, stored }) {
      // The look-up had begun before.
      if (stored !== null) of.state = applied(of.state, { ...stored, epoch: 1, version: 3 });
      of.reset(9);
    },
  });
  expect([reported, queue.inFlight]).toEqual([[], 0]);
});

it('an owner that missed a disabling and an enabling applies both, and sends no earlier event', async () => {
  const { reported, queue, event, asked } = await make({
    lookUp: (parts) => change(parts, { epoch: 1, version: 3 }),
  });
  expect([reported, asked, queue.state.epoch, event, queue.inFlight]).toEqual([[], [], 1, undefined, 0]);
});

it('an owner that missed a change of the url opens the circuit before it sends to the new url', async () => {
  const { reported, queue, event } = await make({
    lookUp: (parts) => change(parts, { version: 2, url: 'https://other.example/', open: false }),
  });
  expect([reported, queue.state.url, queue.state.isCircuitClosed]).toEqual([
    [],
    'https://other.example/',
    false,
  ]);
  expect([event?.attempts, queue.inFlight]).toEqual([0, 0]);
});

it('a failure of an attempt from before the endpoint was enabled is not counted', async () => {
  const { asked, stored, queue, reported } = await make({
    failures: 4,
    beforeStore: (parts) => change(parts, { epoch: 1, failures: 0, open: false }),
  });
  expect([asked, stored?.failures, queue.state.failures]).toEqual([['update', 'find'], 0, 0]);
  expect([reported, queue.inFlight]).toEqual([[['missed', undefined, false]], 0]);
});

it('a 410 of the former url neither disables nor counts', async () => {
  const { asked, stored, reported } = await make({
    outcome: gone,
    beforeStore: (parts) => change(parts, { url: 'https://other.example/' }),
  });
  expect([asked, stored?.active, stored?.failures]).toEqual([['disable', 'find'], true, 0]);
  expect(reported).toEqual([['again', undefined, true]]);
});

it('a failure counts although other settings were changed concurrently', async () => {
  const { asked, stored } = await make({
    failures: 4,
    beforeStore: (parts) => change(parts, { description: 'new' }),
  });
  expect([asked, stored?.failures, stored?.description]).toEqual([['update', 'find', 'update'], 5, 'new']);
});

it('a disabling by release 1.1.0, which raises the epoch alone, is applied', async () => {
  const { asked, stored, queue, reported } = await make({
    failures: 4,
    beforeStore(parts) {
      if (parts.stored !== null) parts.stored = { ...parts.stored, epoch: 1, active: false };
    },
  });
  expect([asked, stored?.failures, queue.state.isActive]).toEqual([['update', 'find'], 4, false]);
  expect(reported).toEqual([['missed', undefined, false]]);
});

it('an owner that a later owner has replaced stores no outcome, and stops', async () => {
  const { asked, stored, queue } = await make({
    beforeStore: (parts) => {
      if (parts.stored !== null) parts.stored = { ...parts.stored, term: 2 };
    },
  });
  expect([asked, stored?.failures, queue.isEnded, queue.inFlight]).toEqual([['update', 'find'], 0, true, 0]);
  expect(queue.state.failures).toBe(0);
});

it('an event is not tried again after an attempt during which its endpoint was deleted', async () => {
  const { event, queue, reported } = await make({ beforeStore: (parts) => void (parts.stored = null) });
  expect([event, queue.inFlight, reported]).toEqual([undefined, 0, [[undefined, undefined, false]]]);
});

it('an attempt that could not be sent, or was cut off, does not count as an attempt at its event', async () => {
  const away = await make({ throws: new Failure('unavailable', 'The proxy is away.') });
  expect([away.queue.inFlight, away.event, away.notes]).toMatchObject([
    0,
    { attempts: 0 },
    ['The proxy is away.'],
  ]);
  const lost = await make({ throws: new UnknownKey('first', true) });
  expect([lost.queue.inFlight, lost.event, lost.notes]).toMatchObject([0, { attempts: 0 }, []]);
  const cutOff = await make({
    throws: new Error('given back'),
    inFlight: ({ attempts }) => attempts.abort(),
  });
  expect([cutOff.queue.inFlight, cutOff.event, cutOff.notes]).toMatchObject([
    0,
    { attempts: 0, dueAt: 0 },
    [],
  ]);
});

/** Makes an attempt at each of the endpoints, all of which fail, and resolves with their failures. */
function failAll(
  ids: readonly string[],
  integrationOf: (id: string) => string,
  recordState: (id: string) => Promise<boolean>,
) {
  const vault = openVault(secretKey);
  const stopping = new AbortController();
  const endpoints = ids.map((id) =>
    Object.assign(openEndpoint(id), {
      integration: integrationOf(id),
      secret: vault.seal('whsec_AAAA', id),
    }),
  );
  const attempts = new Attempts({
    send: async () => ({ ...failed, at: new Date(), durationMs: 1 }),
    cache: openEndpointCache(
      { findAll: async (wanted) => endpoints.filter(({ _id }) => wanted.includes(_id)) },
      vault,
    ),
    endpoints: {
      find: async () => null,
      recordState: ({ _id }) => recordState(_id),
      disable: async () => false,
      recordMissed: async () => undefined,
    },
    report: () => undefined,
    onRead: () => undefined,
    storeSoon: () => undefined,
    announce: () => undefined,
    metrics: { disabledBy: () => undefined },
    mayBegin: () => true,
    retry: openRetry(log, stopping.signal),
    log,
  });
  const made = endpoints.map(async (endpoint) => {
    const { queue } = queueOf(endpoint, [batchOf(1)]);
    const next = queue.next(0, 8);
    if (next.kind !== 'deliver') throw new Error(next.kind);
    queue.begin(next.delivery, 0);
    await attempts.make(queue, next.delivery, next.event);
    return queue.state.failures;
  });
  return { made, stopping };
}

it('an endpoint whose outcome cannot be stored delays no other endpoint', async () => {
  const ids = ['wh_1', 'wh_2', 'wh_3', 'wh_4', 'wh_5'];
  const { made, stopping } = failAll(
    ids,
    () => 'acme',
    async (id) => {
      if (id !== 'wh_5') throw new Error('MongoDB refuses the document');
      return true;
    },
  );
  expect(await made[4]).toBe(1);
  stopping.abort(new Error('the test is over'));
  expect(await Promise.all(made)).toEqual([0, 0, 0, 0, 1]);
});

it('failures at many endpoints of one integration are stored in turns with failures of another integration', async () => {
  const stored: string[] = [];
  const ids = [...Array.from({ length: 20 }, (_, index) => `wh_${index}`), 'wh_rival'];
  const { made } = failAll(
    ids,
    (id) => (id === 'wh_rival' ? 'rival' : 'acme'),
    async (id) => {
      stored.push(id);
      await setImmediate();
      return true;
    },
  );
  await Promise.all(made);
  expect(stored).toHaveLength(21);
  expect(stored.indexOf('wh_rival')).toBeLessThan(3);
});

it('an owner waits between two reads of an endpoint that was changed without a newer version', async () => {
  const { asked, stored } = await make({
    beforeStore: (parts) => {
      if (parts.stored === null) return;
      const { stored: before } = parts;
      parts.stored = { ...before, version: 0 };
      setTimeout(() => (parts.stored = before), 100);
    },
  });
  expect([asked, stored?.failures]).toEqual([['update', 'find', 'update'], 1]);
});

it('an event whose success waits for another change to be stored is not missed by a disabling', async () => {
  let missed: unknown;
  await make({
    outcome: succeeded,
    inFlight: ({ queue }) => {
      queue.storing = setImmediate().then(() => {
        missed = queue.missed().open;
        queue.storing = undefined;
      });
    },
  });
  expect(missed).toEqual([]);
});

const restful: Outcome = { ...failed, answer: { retryAfterMs: 60_000, body: '' } };

it('an event does not wait for Retry-After of a url that is changed while the outcome is being stored', async () => {
  const { queue } = await make({
    outcome: restful,
    isCircuitClosed: false,
    beforeStore: (parts) => parts.queue.forgetRetryAfter(),
  });
  const { retryAfterMs, dueAt = 0 } = queue.find({ sequence: 1, index: 0 }) ?? {};
  expect(retryAfterMs).toBe(0);
  expect(dueAt - performance.now()).toBeLessThanOrEqual(1_000);
});

it.each([
  ['is used up after a failure', failed, 0, [{ sequence: 1, index: 0, attempts: 1 }]],
  ['keeps Retry-After', restful, 0, [{ sequence: 1, index: 0, attempts: 1, retryAfterMs: 60_000 }]],
  ['is its event’s last after a fourth failure', failed, 3, []],
  ['is its event’s last after a success', succeeded, 0, []],
] as const)(
  'an event whose attempt’s outcome is not stored yet %s, in the offset for the next owner',
  async (_, outcome, attempts, expected) => {
    let open: readonly unknown[] | undefined;
    await make({
      outcome,
      isCircuitClosed: false,
      lookUp: ({ queue }) => Object.assign(queue.find({ sequence: 1, index: 0 }) ?? {}, { attempts }),
      beforeStore: ({ queue }) => (open = queue.offset(0, 0).open),
    });
    expect(open).toMatchObject(expected);
  },
);
