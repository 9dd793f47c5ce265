// Forgeries of failovers in a cluster of nats-servers, and changes that look like a violation and are none.
import type { FaultLine, LeaderLine } from '../../../dev/storm/lines.ts';
import { dateOf, type Forger, type Forgeries, type Changes } from './forger.ts';
import { eventOf } from './story.ts';

/** The push a2 of the story, which was answered 504. */
const failed = { begunMs: 1_030, endedMs: 1_040 };
/** The push d1, whose caller hung up. */
const hungUp = { begunMs: 1_090, endedMs: 1_100 };

/** The node that leads the meta group dies, and the cluster is whole again. */
const die = (forger: Forger, atMs = 0, more: Partial<FaultLine> = {}): void =>
  forger.strike('meta-leader', atMs, atMs, { wholeMs: atMs, ...more });
const roll = (forger: Forger, atMs: number, untilMs: number): void =>
  forger.strike('services', atMs, untilMs, { kind: 'roll', pid: 0 });
const without = (asset: LeaderLine['asset'], lostMs: number, foundMs: number): LeaderLine => ({
  asset,
  from: 'n1',
  to: 'n2',
  lostMs,
  foundMs,
});

/** Stores the last event of the first push at that time; it occurred in the second second. */
function storeLate(forger: Forger, atMs: number): void {
  eventOf(forger, 'a1-completed').storedAt = dateOf(atMs);
}

const deliverLate = ({ ledger }: Forger, atMs: number): object =>
  Object.assign(ledger.deliveries[0]!, { begunMs: atMs, atMs });

export const forgedFailovers: Forgeries = {
  roll: {
    'a push fails while services are ended one after the other': (forger) =>
      roll(forger, failed.begunMs - 5, failed.endedMs - 5),
  },
  away: {
    'a push still fails more than 8 s after a node died': (forger) => die(forger, failed.endedMs - 8_001),
    'a push still fails more than 11 s after a node began to stand still': (forger) =>
      die(forger, failed.endedMs - 11_001, { kind: 'stop' }),
    'a push still fails more than 8 s after another stream lost its leader': (forger) => {
      die(forger, failed.endedMs - 20_000);
      forger.ledger.leaders.push(without('EVENT_BATCHES', failed.endedMs - 8_001, failed.endedMs));
    },
  },
  'event-late': {
    'an event comes to the stream more than 5 s after its push': (forger) => {
      die(forger);
      storeLate(forger, 6_100);
    },
    'an event comes to the stream more than 5 s after the stream has a leader': (forger) => {
      die(forger);
      forger.ledger.leaders.push(without('EVENTS', 0, 6_000));
      storeLate(forger, 11_001);
    },
    'an event comes late for want of another stream’s leader': (forger) => {
      die(forger);
      forger.ledger.leaders.push(without('EVENT_BATCHES', 0, 6_000));
      storeLate(forger, 6_100);
    },
    'a statement comes late whose time is later than that of its push': (forger) => {
      die(forger);
      const event = eventOf(forger, 'f1-drafted');
      Object.assign(event, { body: { ...event.body, timestamp: dateOf(2_000) }, storedAt: dateOf(16_000) });
    },
  },
  'delivery-late': {
    'a delivery comes more than 10 s after its event': (forger) => {
      die(forger);
      deliverLate(forger, 11_100);
    },
  },
};

export const permittedFailovers: Changes = {
  'a push fails less than 8 s after a node died': (forger) => die(forger, failed.endedMs - 7_999),
  'a push fails less than 11 s after a node began to stand still': (forger) =>
    die(forger, failed.endedMs - 10_999, { kind: 'stop' }),
  'a push fails less than 8 s after a node that is back had the others elect once more': (forger) => {
    die(forger, failed.endedMs - 20_000);
    forger.ledger.leaders.push(without('EVENTS', failed.endedMs - 7_999, failed.endedMs));
  },
  'a push that began long after one death fails because of the next': (forger) => {
    die(forger, failed.begunMs - 20_000);
    die(forger, failed.endedMs - 5);
  },
  'a push fails before a node dies': (forger) => die(forger, failed.endedMs + 5),
  'a caller hangs up while services are ended one after the other': (forger) =>
    roll(forger, hungUp.begunMs - 5, hungUp.endedMs + 5),
  'an event waits for a stream that has no leader': (forger) => {
    die(forger);
    forger.ledger.leaders.push(without('EVENTS', 0, 6_000));
    storeLate(forger, 10_999);
  },
  'events of an overwritten record and statement, which have the time when their push began, come with its recovery':
    (forger) => {
      die(forger);
      for (const part of ['a1-created', 'f1-drafted']) eventOf(forger, part).storedAt = dateOf(16_000);
    },
  'a delivery waits for a log that has no leader': (forger) => {
    die(forger);
    forger.ledger.leaders.push(without('EVENT_BATCHES', 0, 6_000));
    deliverLate(forger, 15_999);
  },
  'all of it comes late after two nodes of three died': (forger) => {
    die(forger, 0, { target: 'two-nodes', wholeMs: 30_000 });
    storeLate(forger, 34_999);
    deliverLate(forger, 39_999);
  },
};
