// What customers of the story see who read the feed, mirror records, change an endpoint and rotate keys; and its forgeries.
import type { AskLine, DeliveryLine } from '../../../dev/storm/lines.ts';
import { dateOf, integration, syncOf, type Forger, type Forgeries, type Changes } from './forger.ts';

type Asked = Partial<AskLine> & { by: string };

const ask = ({ ledger }: Forger, line: Asked): AskLine => {
  const usual = { integration, method: 'GET', path: '', begunMs: 0, endedMs: 0, outcome: 200 };
  const all = { ...usual, endedMs: (line.begunMs ?? 0) + 10, ...line };
  ledger.asks.push(all);
  return all;
};

/** Pages of one event each, and the last one, which is empty. */
function read(forger: Forger, by: string, path: string, ids: readonly string[]): void {
  for (const [nth, id] of ids.entries())
    ask(forger, { by, path, begunMs: nth, answer: { ids: [id], next: '', more: true } });
  ask(forger, { by, path, begunMs: 90_000, answer: { ids: [], next: '', more: false } });
}

const changedMs = 2_000;

export function addCustomers(forger: Forger): void {
  const { ledger } = forger;
  const inOrder = ledger.events.toSorted((one, other) => one.sequence - other.sequence);
  read(forger, 'whole', '/events?limit=500', inOrder.map(({ id }) => id)); // oxfmt-ignore
  const completed = inOrder.filter(({ body }) => body.event === 'sync.completed');
  read(forger, 'feed 1', '/events?limit=1&events=sync.completed', completed.map(({ id }) => id)); // oxfmt-ignore
  for (const [externalId, push] of [
    ['p-s-1', 'a3'],
    ['h-s-1', 'c1'],
  ] as const) {
    // oxfmt-ignore
    const stored = ledger.stored.find((line) => line.externalId === externalId)!;
    stored.push = syncOf(push);
    const changedAt = ledger.begun.find((line) => line.push === push)!.begunAt;
    const records = [[stored.internalId, stored.push, changedAt]];
    ask(forger, { by: 'mirror suppliers', begunMs: 90_000, answer: { records } });
  }
  const kinds = { with: ['sync.completed'], without: ['batch.archived'] };
  const by = 'endpoint 1';
  const sent = { url: 'http://127.0.0.1/one', events: kinds.with };
  const answer = { id: 'wh_own', secret: 'whsec_1' };
  for (let nth = 0; nth < 3; nth += 1)
    ask(forger, { by, method: 'POST', path: '/webhook-events', sent, answer, begunMs: 100 });
  ask(forger, { by, method: 'PATCH', path: '/webhook-events/wh_own', sent: { events: kinds.without }, begunMs: changedMs }); // oxfmt-ignore
  for (const { id, body, bodyHash } of completed.filter(({ storedAt }) => storedAt < dateOf(changedMs))) {
    const line = {
      endpoint: 'wh_own',
      path: '/one',
      event: id,
      kind: body.event,
      begunMs: 1_900,
      atMs: 1_900,
    };
    ledger.deliveries.push({ ...line, status: 204, genuine: true, signer: 0, bodyHash });
  }
  const write = (begunMs: number, ...keys: string[]): object =>
    ask(forger, { by: 'keys', method: 'WRITE', sent: keys, begunMs });
  write(100, 'old');
  write(5_000, 'old', 'new');
  write(10_000, 'new');
  useKey(forger, 'old', 19_000, 200);
  useKey(forger, 'old', 20_100, 401);
  useKey(forger, 'new', 15_100, 200);
}

const useKey = (forger: Forger, key: string, begunMs: number, outcome: number): object =>
  ask(forger, { by: 'keys', path: '/token', sent: key, begunMs, outcome });

const pages = ({ ledger }: Forger, by: string): AskLine[] => ledger.asks.filter((line) => line.by === by);
const skip = ({ ledger }: Forger, by: string, nth: number): void => {
  const page = pages({ ledger } as Forger, by)[nth]!;
  ledger.asks.splice(ledger.asks.indexOf(page), 1);
};
const shown = (forger: Forger, by: string, change: (records: string[]) => void): void => {
  const { records } = pages(forger, by)[0]!.answer as { records: string[][] };
  change(records[0]!);
};
/** A further change of the endpoint, whose answer came before c1 and b2 began. */
const change = (forger: Forger, line: Partial<AskLine>): object =>
  ask(forger, { by: 'endpoint 1', method: 'PATCH', path: '/webhook-events/wh_own', begunMs: 3_000, ...line });
const again = ({ sent }: AskLine): object => ({ ...Object(sent), events: ['sync.completed'] });
const hit = ({ ledger }: Forger, event: string, line: Partial<DeliveryLine> = {}): unknown =>
  ledger.deliveries.push({
    ...ledger.deliveries.find(({ endpoint }) => endpoint === 'wh_own')!,
    event,
    begunMs: 6_000,
    atMs: 6_000,
    ...line,
  });

/** The endpoint wants the events of c1 and b2, and gets them. */
function wantAgain(forger: Forger, line: Partial<DeliveryLine> = {}): void {
  change(forger, { sent: again(pages(forger, 'endpoint 1')[0]!) });
  for (const push of ['c1', 'b2']) hit(forger, `${syncOf(push)}-completed`, line);
}

const isErasing = (id = ''): boolean => id.includes('-erased-');

/** Webhooks and the feed lack the event of the erased supplier; `isLate`: its push was announced again after the erasing. */
function omitErased(forger: Forger, isLate: boolean): void {
  const { ledger } = forger;
  const [created, completed] = [`${syncOf('z1')}-created-e-z-0`, `${syncOf('z1')}-completed`];
  ledger.deliveries = ledger.deliveries.filter(({ event }) => event !== created);
  for (const by of ['whole', 'feed 1']) {
    const before = pages(forger, by);
    ledger.asks = ledger.asks.filter((line) => line.by !== by);
    const ids = before.flatMap(({ answer }) => (answer as { ids: string[] }).ids);
    const others = ids.filter((id) => id !== created && id !== completed);
    read(forger, by, before[0]!.path, isLate ? [...others, completed] : [completed, ...others]);
  }
}

export const forgedCustomers: Forgeries = {
  'event-time': {
    'an event is dated 3 s early': ({ ledger }) => (ledger.events[1]!.body.timestamp = dateOf(0)),
    'an event is dated after its run': ({ ledger }) => (ledger.events[1]!.body.timestamp = dateOf(9_000)),
    'a whole run is dated early': ({ ledger }) => (ledger.runs[1]!.run.startedAt = dateOf(0)),
  },
  feed: {
    'the feed leaves an event out': (forger) => skip(forger, 'whole', 2),
    'a reader with a filter misses an event': (forger) => skip(forger, 'feed 1', 1),
    'a reader with a filter misses the first event': (forger) => skip(forger, 'feed 1', 0),
    'the feed leaves out the event of a record that was erased later': (forger) => omitErased(forger, false),
    'the feed leaves out the event of a record that was never erased': (forger) => {
      omitErased(forger, true);
      forger.ledger.events = forger.ledger.events.filter(({ id }) => !isErasing(id));
      forger.ledger.asks = forger.ledger.asks.filter(
        ({ by, answer }) => by !== 'whole' || !isErasing((answer as { ids: string[] }).ids[0]),
      );
    },
    'the feed shows an event twice': (forger) => forger.ledger.asks.push(pages(forger, 'whole')[0]!),
  },
  mirror: {
    'a mirror misses a change': (forger) => skip(forger, 'mirror suppliers', 1),
    'a mirror keeps an older version': (forger) =>
      shown(forger, 'mirror suppliers', (one) => (one[1] = syncOf('a1'))),
    'changedAt is an hour early': (forger) =>
      shown(forger, 'mirror suppliers', (one) => (one[2] = dateOf(-3_600_000))),
  },
  change: {
    'a wanted event never comes': ({ ledger }) => ledger.deliveries.pop(),
    'a kind that is wanted no more still comes': (forger) => hit(forger, `${syncOf('c1')}-completed`),
    'a deleted endpoint still gets an event': (forger) => {
      wantAgain(forger);
      change(forger, { method: 'DELETE', begunMs: 3_500 });
    },
    'a disabled endpoint still gets an event': (forger) => {
      wantAgain(forger);
      change(forger, { sent: { active: false }, begunMs: 3_500 });
    },
    'a replay leaves an event out': (forger) => {
      change(forger, { sent: again(pages(forger, 'endpoint 1')[0]!) });
      change(forger, { sent: { active: false }, begunMs: 3_500 });
      change(forger, { method: 'POST', path: '/webhook-events/wh_own/replay', begunMs: 7_000 });
    },
    'an event comes to the former url': (forger) => {
      change(forger, { sent: { url: 'http://127.0.0.1/two' }, begunMs: 2_500 });
      wantAgain(forger);
    },
    'an event is signed with the former secret': (forger) => {
      change(forger, { method: 'POST', path: '/webhook-events/wh_own/rotate-secret', begunMs: 2_500 });
      wantAgain(forger);
    },
  },
  'delivery-false': {
    'a delivery to a changed endpoint is not genuine': ({ ledger }) =>
      (ledger.deliveries.at(-1)!.genuine = false),
  },
  registration: {
    'one Idempotency-Key registers two webhooks': (forger) =>
      (pages(forger, 'endpoint 1')[1]!.answer = { id: 'wh_other', secret: 'whsec_2' }),
  },
  key: {
    'a removed key serves on': (forger) => useKey(forger, 'old', 21_000, 200),
    'a written key does not serve': (forger) => useKey(forger, 'new', 16_000, 401),
  },
  erased: {
    'an erased record is listed by its id': ({ ledger }) => {
      const line = ledger.listed.at(-1)!;
      line.entities = line.entities.map((one) => ['e-z-0', one[1], one[2], one[3]]);
    },
    'an erased record keeps a field': ({ ledger }) =>
      (ledger.stored.at(-1)!.fields = { name: 'z1/0', syncStatus: 'ERASED' }),
    'an erasing is not announced': ({ ledger }) =>
      (ledger.events.find(({ body }) => body.event === 'supplier.erased')!.body.event = 'supplier.updated'),
  },
  'in-flight': {
    'a narrow endpoint has two deliveries under way': ({ ledger }) => {
      ledger.endpoints[0]!.behaviour = 'narrow';
      ledger.deliveries[0]!.begunMs = ledger.deliveries[1]!.begunMs - 50;
      ledger.deliveries[0]!.atMs = ledger.deliveries[1]!.begunMs + 50;
    },
  },
  'attempt-log': {
    'the attempt log says 200 of what was answered 204': ({ ledger }) => (ledger.deliveries[0]!.status = 200),
    'the attempt log says 1 ms of what took 300 ms': ({ ledger }) => (ledger.deliveries[0]!.atMs += 300),
  },
};

export const permittedCustomers: Changes = {
  'an endpoint wants a kind again': (forger) => wantAgain(forger),
  'an event comes by a replay after its endpoint was disabled': (forger) => {
    wantAgain(forger, { begunMs: 7_500, atMs: 7_500 });
    change(forger, { sent: { active: false }, begunMs: 3_500 });
    change(forger, { method: 'POST', path: '/webhook-events/wh_own/replay', begunMs: 7_000 });
  },
  'an event comes to the new url, signed with the new secret': (forger) => {
    change(forger, { sent: { url: 'http://127.0.0.1/two' }, begunMs: 2_500 });
    change(forger, { method: 'POST', path: '/webhook-events/wh_own/rotate-secret', begunMs: 2_700 });
    wantAgain(forger, { path: '/two', signer: 1 });
  },
  'an event that came to the stream after a change may be either': ({ ledger }) => {
    ledger.events.find(({ id }) => id === `${syncOf('z2')}-completed`)!.storedAt = dateOf(changedMs);
    ledger.deliveries.pop();
  },
  'a gateway that stood still takes a removed key': (forger) => {
    forger.strike('gateway', 9_000, 20_500);
    useKey(forger, 'old', 20_600, 200);
  },
  'a push is announced again after its record was erased, and so without it': (forger) =>
    omitErased(forger, true),
  'a reader begins in the middle of the feed': (forger) => {
    const [first] = pages(forger, 'feed 1');
    first!.endedMs = 1_025;
    first!.answer = { ids: [], next: '', more: true };
  },
  'the feed repeats an event from about the time of a fault': (forger) => {
    forger.strike('nats', 9_000);
    forger.ledger.asks.push(pages(forger, 'whole')[0]!);
  },
};
