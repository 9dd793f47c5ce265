// Forgeries of what receivers and attempt logs say, of the order of events, and of a service that does next to nothing.
import type { DeliveryAttempt } from '@integration-sync/contracts';
import { attempt, dateOf, integration, type Forger, type Forgeries, type Changes } from './forger.ts';
import { eventOf } from './story.ts';

/** Delivers the first event `times` times more at `atMs`; all events of the story occur at its beginning. */
const again = ({ ledger }: Forger, atMs: number, times = 1): void => {
  const [first] = ledger.deliveries;
  for (let nth = 0; nth < times; nth += 1) ledger.deliveries.push({ ...first!, begunMs: atMs, atMs });
  const entry = attempt(first!.event, { atMs });
  for (let nth = 0; nth < times; nth += 1)
    ledger.attempts[0]!.newest = [entry, ...ledger.attempts[0]!.newest];
};

/** Adds an endpoint that has failed from the start, with this attempt log. */
function dead(forger: Forger, entries: readonly DeliveryAttempt[]): void {
  forger.ledger.endpoints.push({ endpoint: 'wh_dead', integration, behaviour: 'dead', events: [] });
  forger.log('wh_dead', entries);
}

const delaysMs = [0, 1_000, 5_000, 30_000];

/** Entries of failed attempts, each when the schedule of retries has it due. */
function failures(count: number): DeliveryAttempt[] {
  let atMs = 1_000;
  return Array.from({ length: count }, (_, nth) => {
    const number = (nth % 4) + 1;
    atMs += delaysMs[number - 1]!;
    const delayMs = delaysMs[number];
    const nextMs = delayMs === undefined ? null : atMs + delayMs;
    return attempt(`sync_${Math.floor(nth / 4)}-created-0`, { atMs, number, nextMs, outcome: 'failed' });
  });
}

const disabled = (forger: Forger, consecutiveFailures: number): void =>
  forger.announce('webhook.disabled', 'wh_dead-disabled-1', {
    webhookId: 'wh_dead',
    url: 'http://127.0.0.1/',
    reason: 'failures',
    consecutiveFailures,
  });

/** The attempt log has these entries of the first event, newest first, and all entries of other events. */
function relog({ ledger }: Forger, entries: readonly DeliveryAttempt[]): void {
  const [log] = ledger.attempts;
  log!.newest = [...entries, ...log!.newest.filter(({ eventId }) => eventId !== ledger.deliveries[0]!.event)];
  log!.total = log!.newest.length;
}

/**
 * The first event is delivered twice, as by the attempt log its first attempt, at 20 s, ended after `durationMs` without an answer;
 * its receiver answered the first one at `answeredMs`.
 */
function retried(forger: Forger, answeredMs: number, { durationMs = 10_000, begunMs = 20_001 } = {}): void {
  const { ledger } = forger;
  const [first] = ledger.deliveries;
  const failed = attempt(first!.event, { atMs: 20_000, nextMs: 21_000 + durationMs, outcome: 'failed' });
  const timedOut = { ...failed, responseStatus: null, durationMs };
  ledger.attempts[0]!.failed = [timedOut];
  relog(forger, [attempt(first!.event, { atMs: 40_000, number: 2 }), timedOut]);
  Object.assign(first!, { begunMs, atMs: answeredMs });
  ledger.deliveries.push({ ...first!, begunMs: 40_001, atMs: 40_002 });
}

/** Delivers the first event to its replay too, 4 ms after itself: one is answered 200 after 3 ms, the other 204 after 60 ms. */
function twins(forger: Forger, said: Partial<DeliveryAttempt> = {}): void {
  const { ledger } = forger;
  const [first] = ledger.deliveries;
  const { begunMs } = first!;
  ledger.replays.push({ endpoint: 'wh_1', atMs: begunMs - 1_000 });
  first!.status = 200;
  first!.atMs = begunMs + 3;
  ledger.deliveries.push({ ...first!, begunMs: begunMs + 4, atMs: begunMs + 64, status: 204 });
  const entry = attempt(first!.event, { atMs: begunMs - 2 });
  const own = { ...entry, responseStatus: 200, durationMs: 6, ...said };
  const ofReplay = { ...entry, at: dateOf(begunMs + 2), responseStatus: 204, durationMs: 65, ...said };
  relog(forger, [ofReplay, own]);
}

export const forgedDeliveries: Forgeries = {
  'attempt-log': {
    'the attempt log says 200 and 1 ms of two deliveries within milliseconds': (forger) =>
      twins(forger, { responseStatus: 200, durationMs: 1 }),
    'the attempt log says of both deliveries within milliseconds what is right of the second': (forger) =>
      twins(forger, { responseStatus: 204, durationMs: 65 }),
    'an attempt is not in the log': (forger) => forger.log('wh_1', []),
    'an endpoint has no log': ({ ledger }) => ledger.attempts.pop(),
    'the log says that a receiver took what it did not take': ({ ledger }) =>
      (ledger.attempts[0]!.newest = ledger.attempts[0]!.newest.concat(ledger.attempts[0]!.newest)),
  },
  'delivery-twice': {
    'a delivery comes again while all is well': (forger) => again(forger, 60_000),
    'a delivery comes again though its receiver answered an attempt that the log says timed out': (forger) =>
      retried(forger, 29_900),
    'a delivery comes again after an attempt that ended before the time-out': (forger) =>
      retried(forger, 29_900, { durationMs: 9_800 }),
    'a delivery comes a third time after a retry that its receiver answered in time': (forger) => {
      retried(forger, 31_000);
      again(forger, 60_000);
    },
    'a delivery comes again long after the last fault': (forger) => {
      forger.strike('webhooks', 30_000, 39_000);
      again(forger, 60_000);
    },
    'one fault makes many deliveries come again': (forger) => {
      forger.strike('webhooks', 50_000);
      again(forger, 60_000, 60);
    },
    'one fault makes one endpoint take more again than it may be ahead of its offset': (forger) => {
      forger.strike('nats', 50_000);
      again(forger, 60_000, 65);
    },
    'many deliveries come again though the database went on before an owner was lost': (forger) => {
      forger.strike('database', 30_000, 46_000);
      forger.strike('webhooks', 50_000);
      again(forger, 60_000, 600);
    },
  },
  'event-order': {
    'a push is announced as completed before its records': (forger) =>
      (eventOf(forger, 'a1-completed').sequence = 0),
    'the draft of a push is announced before its batch': (forger) =>
      (eventOf(forger, 'f1-drafted').sequence = 0),
  },
  schedule: {
    'a second try comes after 0.1 s': (forger) => {
      const [first, second] = failures(2);
      dead(forger, [
        first!,
        { ...second!, at: first!.at.replace('01.000Z', '01.100Z').replace('02.000Z', '02.100Z') },
      ]);
    },
    'a second try is promised for a minute later': (forger) =>
      dead(forger, [attempt('sync_x', { atMs: 1_000, nextMs: 61_000, outcome: 'failed' })]),
    'an event is tried five times': (forger) =>
      dead(forger, [attempt('sync_x', { number: 5, outcome: 'failed' })]),
  },
  disabling: {
    'an endpoint is tried after its tenth failure': (forger) => dead(forger, failures(11)),
    'an endpoint is disabled by its fifth failure': (forger) => disabled(forger, 5),
  },
  floor: {
    'pushes of batches are refused': ({ ledger }) =>
      (ledger.ended.find(({ push }) => push === 'f1')!.outcome = 504),
    'few items are accepted': ({ ledger }) => (ledger.floor = { ...ledger.floor, acknowledgedItems: 1 }),
    'few events are announced': ({ ledger }) => (ledger.floor = { ...ledger.floor, events: 1 }),
    'few deliveries are taken': ({ ledger }) => (ledger.floor = { ...ledger.floor, deliveries: 1 }),
  },
};

export const permittedDeliveries: Changes = {
  'an attempt that its replica cut off, as it gave its partition back, is not in the log': (forger) => {
    forger.strike('webhooks', 0);
    const { ledger } = forger;
    const [first] = ledger.deliveries;
    ledger.deliveries.unshift({ ...first!, begunMs: 9_000, atMs: 9_500, status: 0, unheard: true });
    Object.assign(first!, { begunMs: 10_000, atMs: 10_001 });
    Object.assign(ledger.attempts[0]!.newest.at(-1)!, { at: dateOf(10_000), durationMs: 1 });
  },
  'a second try comes early by the end of a first one whose replica stood still meanwhile': (forger) => {
    forger.strike('webhooks', 1_000, 18_000);
    const [first, second] = failures(2);
    dead(forger, [{ ...first!, durationMs: 17_000, nextAttemptAt: dateOf(19_000) }, second!]);
  },
  'a replica of webhooks that stood still has a delivery come again': (forger) => {
    forger.strike('webhooks', 30_000, 45_000);
    again(forger, 60_000, 40);
  },
  'an event of a catalog that was struck comes again': (forger) => {
    forger.ledger.seconds = 16;
    forger.strike('catalog', 10_000);
    again(forger, 60_000);
  },
  'one fault makes a tenth of a short storm come again': (forger) => {
    forger.ledger.seconds = 16;
    forger.strike('nats', 10_000);
    again(forger, 12_000, 60);
  },
  'what an owner delivered while the database stood still comes again, as the owner was lost before it went on':
    (forger) => {
      const { atMs } = forger.ledger.deliveries[0]!;
      forger.strike('database', atMs - 100, 46_000);
      forger.strike('webhooks', 45_000);
      again(forger, 60_000, 600);
    },
  'a replay sends again': (forger) => {
    forger.ledger.replays.push({ endpoint: 'wh_1', atMs: 50_000 });
    again(forger, 60_000, 60);
  },
  'a dead endpoint is disabled by its tenth failure': (forger) => dead(forger, failures(10)),
  'an endpoint is tried once more where a fault delayed what a failure stores': (forger) => {
    dead(forger, failures(11));
    forger.strike('webhooks', 37_500, 38_500);
  },
  'a failure that does not count follows the tenth': (forger) => {
    const entries = failures(10);
    const last = {
      ...entries.at(-1)!,
      durationMs: 900,
      at: entries.at(-2)!.at,
      attempt: 1,
      eventId: 'sync_y',
    };
    dead(forger, [...entries, { ...last, nextAttemptAt: null }]);
  },
  'a killed replica takes the entries of its last moment with it': (forger) => {
    forger.strike('webhooks', 10);
    forger.log('wh_1', []);
  },
  'an attempt that timed out reaches its receiver after the next one': (forger) => {
    const [first] = forger.ledger.deliveries;
    const timedOut = attempt(first!.event, { atMs: 20_000, nextMs: 31_000, outcome: 'failed' });
    const next = attempt(first!.event, { atMs: 31_000, number: 2 });
    relog(forger, [next, { ...timedOut, responseStatus: null, durationMs: 10_000 }]);
    forger.ledger.deliveries.push({ ...first!, begunMs: 32_000, atMs: 32_000, status: 200 });
    first!.begunMs = first!.atMs = 31_000;
    forger.strike('webhooks', 15_000, 25_000);
  },
  'a delivery comes again as its receiver answered the first attempt later than the time-out': (forger) =>
    retried(forger, 30_500),
  'a delivery comes again as its busy receiver read the first attempt later than the time-out': (forger) =>
    retried(forger, 30_500, { begunMs: 30_400 }),
  'two deliveries within milliseconds have the entries of each other': (forger) => twins(forger),
  'a push of which a stream without a leader lost the first event has it last': (forger) => {
    eventOf(forger, 'a1-completed').sequence = 0;
    forger.strike('events-leader', 1_500);
    for (const event of forger.ledger.events) event.storedAt = dateOf(2_000);
  },
};
