// What a replay sends, against a model: the events of its span, and what a disabling within the span left undelivered. Two replicas.
import type { ServerResponse } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { Failure } from '@integration-sync/contracts';
import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { clockMarginMs } from '../../../services/webhooks/src/log/logged-batch.ts';
import { eventually } from '../../support/eventually.ts';
import { answer, idsOf, openReceiver, type Hit, type Receiver } from '../../support/receiver.ts';
import { openHouse, type Client, type House } from '../../support/webhooks.ts';

let house: House;
beforeAll(async () => {
  house = await openHouse();
  await house.start();
  await house.start();
});
afterAll(() => house[Symbol.asyncDispose]());

const numRuns = Number(process.env['REPLAY_MODEL_RUNS'] ?? 5);
const kinds = ['supplier.created', 'batch.created'];

/** Events that the receiver does not take before a disabling, occur while the webhook is disabled, and are delivered afterwards. */
const outage = fc.record({
  isSilent: fc.boolean(),
  refused: fc.integer({ min: 1, max: 5 }),
  missed: fc.nat(3),
  later: fc.nat(2),
});
/** A millisecond at, before or after an event or a disabling. */
const moment = fc.record({ of: fc.nat(), shiftMs: fc.integer({ min: -1, max: 1 }) });
const span = fc.record({
  since: moment,
  until: fc.option(moment),
  kind: fc.option(fc.constantFrom(...kinds)),
});
const history = fc.record({
  events: fc.subarray(kinds, { minLength: 1 }),
  outages: fc.array(outage, { minLength: 1, maxLength: 3 }),
  spans: fc.array(span, { minLength: 2, maxLength: 4 }),
});

type Drawn<A> = A extends fc.Arbitrary<infer One> ? One : never;
type Outage = Drawn<typeof outage>;
type Moment = Drawn<typeof moment>;
type Span = Drawn<typeof span>;

interface Occurred {
  id: string;
  kind: string;
  ms: number;
}

interface Played {
  client: Client;
  receiver: Receiver;
  id: string;
  events: readonly string[];
  /** The events of the integration, in their order; no two occur in the same millisecond. */
  occurred: Occurred[];
  disablings: { ms: number; undelivered: readonly Occurred[] }[];
}

/** Resolves with the new events that the webhook subscribes to. */
async function occur({ client, events, occurred }: Played, count: number): Promise<Occurred[]> {
  const from = occurred.length;
  for (let nth = 0; nth < count; nth += 1) {
    const kind = kinds[nth % kinds.length] ?? '';
    const ms = Date.now();
    const [id = ''] = await client.announce(1, kind, new Date(ms).toISOString());
    occurred.push({ id, kind, ms });
    while (Date.now() === ms) await wait(1);
  }
  return occurred.slice(from).filter(({ kind }) => events.includes(kind));
}

const ofThese = (some: readonly Occurred[]) => {
  const ids = new Set(some.map(({ id }) => id));
  return { where: ({ headers }: Hit) => ids.has(headers['webhook-id'] ?? '') };
};

async function occurAndDeliver(played: Played, count: number): Promise<void> {
  const some = await occur(played, count);
  await played.receiver.received(some.length, ofThese(some));
}

async function endure(played: Played, { isSilent, refused, missed, later }: Outage): Promise<void> {
  const { client, receiver, id } = played;
  const silent: ServerResponse[] = [];
  receiver.behave((hit, response, request) => {
    if (isSilent) silent.push(response);
    else answer(503)(hit, response, request);
  });
  const undelivered = await occur(played, refused);
  await receiver.received(Math.min(undelivered.length, 1), ofThese(undelivered));
  const { disabledAt } = (await client.ask('change', { id, body: { active: false } })).body;
  played.disablings.push({ ms: Date.parse(disabledAt ?? ''), undelivered });
  await occur(played, missed);
  await client.ask('change', { id, body: { active: true } });
  receiver.behave(answer(204));
  for (const response of silent) response.writeHead(503).end();
  await occurAndDeliver(played, later);
}

const msOf = ({ occurred, disablings }: Played, { of, shiftMs }: Moment): number => {
  const times = [...occurred, ...disablings].map(({ ms }) => ms);
  return (times[of % times.length] ?? 0) + shiftMs;
};

async function expectReplay(played: Played, { since, until, kind }: Span): Promise<void> {
  const { client, receiver, id, events, occurred, disablings } = played;
  const fromMs = msOf(played, since);
  const toMs = until === null ? Infinity : Math.max(fromMs, msOf(played, until));
  const within = disablings.filter(({ ms }) => ms >= fromMs && ms <= toMs);
  const undelivered = new Set(within.flatMap((one) => one.undelivered));
  const expected = occurred.filter(
    (one) =>
      events.includes(one.kind) &&
      (kind === null || one.kind === kind) &&
      ((one.ms > fromMs && one.ms <= toMs) || undelivered.has(one)),
  );
  const body = {
    since: new Date(fromMs).toISOString(),
    ...(until === null ? {} : { until: new Date(toMs).toISOString() }),
    ...(kind === null ? {} : { events: [kind] }),
  };
  const before = receiver.hits.length;
  // A replay is refused until the service has stored that the events of the earlier one are delivered.
  const answered = await eventually(
    () => client.ask('replay', { id, body }).catch((refusal: unknown) => refusal),
    (found) => !(found instanceof Failure),
  );
  expect(answered).toMatchObject({ status: 202, body: { queued: expected.length } });
  await receiver.received(before + expected.length);
  expect(idsOf(receiver.hits.slice(before))).toEqual(new Set(expected.map((one) => one.id)));
}

it(
  'a replay sends the events of its span, and the events that disablings within the span left undelivered',
  { timeout: numRuns * 36_000 },
  () =>
    fc.assert(
      fc.asyncProperty(history, async ({ events, outages, spans }) => {
        await using receiver = await openReceiver();
        const client = house.newClient();
        const { id } = await client.register(receiver.url, events);
        const played: Played = { client, receiver, id, events, occurred: [], disablings: [] };
        await occurAndDeliver(played, 2);
        for (const one of outages) await endure(played, one);
        // As clocks may differ, what a replay adds within a second after a disabling counts as undelivered at the disabling.
        await wait(clockMarginMs);
        for (const one of spans) await expectReplay(played, one);
      }),
      { numRuns, endOnFailure: true },
    ),
);
