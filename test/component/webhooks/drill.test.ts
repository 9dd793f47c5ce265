// A drill against receivers of this machine: fourteen with one fault each, which it must find, three that are right, and some that
// leave it waiting.
import { createHmac } from 'node:crypto';
import { verifyWebhook } from '@integration-sync/client';
import { Webhook } from 'standardwebhooks';
import { buildConnector } from 'undici';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { answer, hang, openReceiver, type Behaviour, type Hit } from '../../support/receiver.ts';
import { openHouse, type AnswerBody, type Client, type House } from '../../support/webhooks.ts';

const names = [
  'first-delivery', 'same-event-again', 'replayed-event', 'json-with-blanks', 'former-secret', 'unknown-kind', 'large-body',
  'wrong-signature', 'other-endpoint', 'old-timestamp', 'no-signature', 'changed-body',
]; // oxfmt-ignore
const forged = names.slice(7);

let house: House;
/** Where names lead; the names of other tests lead nowhere. */
const addresses = new Map<string, string>();
const strangers: string[] = [];
beforeAll(async () => {
  house = await openHouse();
  const connect = buildConnector({});
  const deps = {
    resolve: async (name: string) => [addresses.get(name) ?? '127.0.0.1'],
    connector: ((asked, callback) => {
      if (asked.hostname === '127.0.0.1') connect(asked, callback);
      else {
        strangers.push(asked.hostname);
        callback(new Error('no test connects elsewhere'), null);
      }
    }) satisfies buildConnector.connector,
  };
  await Promise.all([house.start(deps), house.start(deps)]);
});
afterAll(() => house[Symbol.asyncDispose]());

/** What a receiver does with a delivery; each fault replaces one of these. */
interface Rules {
  status: (hit: Hit) => number | undefined;
  signedText: (body: string) => string;
  isFresh: (headers: Hit['headers']) => boolean;
  fits: (signatures: readonly string[], expected: string) => boolean;
  isGenuine: (hit: Hit, secret: string, rules: Rules) => boolean;
  refusal: number;
  ofGenuine: (hit: Hit) => number;
}

const isNear = (ms: number): boolean => Math.abs(Date.now() - ms) < 300_000;

const careful: Rules = {
  status: () => undefined,
  signedText: (body) => body,
  isFresh: (headers) => isNear(Number(headers['webhook-timestamp']) * 1_000),
  fits: (signatures, expected) => signatures.includes(expected),
  isGenuine({ headers, body }, secret, { isFresh, fits, signedText }) {
    const text = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${signedText(body)}`;
    const hmac = createHmac('sha256', Buffer.from(secret.slice('whsec_'.length), 'base64'));
    const expected = `v1,${hmac.update(text).digest('base64')}`;
    return isFresh(headers) && fits((headers['webhook-signature'] ?? '').split(' '), expected);
  },
  refusal: 400,
  ofGenuine: () => 204,
};

function statusBy(rules: Rules, secret: string, hit: Hit): number {
  try {
    const status = rules.status(hit);
    if (status !== undefined) return status;
    return rules.isGenuine(hit, secret, rules) ? rules.ofGenuine(hit) : rules.refusal;
  } catch {
    return rules.refusal;
  }
}

interface Drilled {
  client: Client;
  id: string;
  hits: readonly Hit[];
  body: AnswerBody;
}

async function drill(behaveWith: (secret: string) => Behaviour, settings: object = {}): Promise<Drilled> {
  const client = house.newClient();
  await using receiver = await openReceiver();
  const body = { url: receiver.url, events: ['supplier.created'], ...settings };
  const { id, secret } = (await client.ask('register', { body })).body;
  receiver.behave(behaveWith(secret));
  return { client, id, hits: receiver.hits, body: (await client.ask('drill', { id })).body };
}

const by =
  (rules: Partial<Rules>) =>
  (secret: string): Behaviour =>
  (hit, response, request) =>
    answer(statusBy({ ...careful, ...rules }, secret, hit))(hit, response, request);

const failedIn = ({ checks }: AnswerBody): string[] =>
  checks.filter(({ passed }) => !passed).map(({ name }) => name);

const known = new Set(['webhook.test', 'supplier.created']);
function ofSeen(): Rules['ofGenuine'] {
  const seen = new Set<string | undefined>();
  return ({ headers }) => {
    if (seen.has(headers['webhook-id'])) return 409;
    seen.add(headers['webhook-id']);
    return 204;
  };
}

const faults: [fault: string, rules: Partial<Rules>, found: string[]][] = [
  ['verifies nothing', { status: () => 204 }, forged],
  ['answers 200 to everything, whatever it has verified', { refusal: 200, ofGenuine: () => 200 }, forged],
  [
    'compares the beginning of signatures',
    { fits: (signatures, expected) => signatures.some((one) => one.slice(0, 20) === expected.slice(0, 20)) },
    ['wrong-signature'],
  ],
  [
    'looks at the form of signatures alone',
    { fits: (signatures) => signatures.some((one) => /^v1,[A-Za-z0-9+/]{43}=$/.test(one)) },
    ['wrong-signature', 'other-endpoint', 'changed-body'],
  ],
  [
    'verifies JSON that it has parsed and written again',
    { signedText: (body) => JSON.stringify(JSON.parse(body)) },
    ['json-with-blanks'],
  ],
  [
    'parses before it verifies',
    { status: ({ body }) => (body.endsWith('}') ? undefined : 500) },
    ['changed-body'],
  ],
  ['does not look at the age', { isFresh: () => true }, ['old-timestamp']],
  [
    'takes the time of the event for that of the delivery',
    { isFresh: (headers) => isNear(Date.parse(headers['x-webhook-timestamp'] ?? '')) },
    ['replayed-event', 'old-timestamp'],
  ],
  [
    'looks at the first signature alone',
    { fits: ([first], expected) => first === expected },
    ['former-secret'],
  ],
  [
    'verifies X-Webhook-Signature alone',
    {
      isGenuine: ({ headers, body }, secret) =>
        headers['x-webhook-signature'] === createHmac('sha256', secret).update(body).digest('hex'),
    },
    ['former-secret', 'old-timestamp'],
  ],
  [
    'fails on unknown kinds',
    { ofGenuine: ({ headers }) => (known.has(headers['x-webhook-event'] ?? '') ? 204 : 422) },
    ['unknown-kind'],
  ],
  ['refuses an event that it has had', { ofGenuine: ofSeen() }, ['same-event-again']],
  [
    'takes 100 KiB at most',
    { status: ({ body }) => (body.length > 100 * 1024 ? 413 : undefined) },
    ['large-body'],
  ],
  [
    'crashes without a signature',
    { status: ({ headers }) => (headers['webhook-signature'] === undefined ? 500 : undefined) },
    ['no-signature'],
  ],
];

describe('a drill, which tests a receiver with forged deliveries,', () => {
  it.each(faults)('finds a receiver that %s', async (_fault, rules, found) => {
    const { body } = await drill(by(rules));
    expect(body.passed).toBe(false);
    expect(failedIn(body)).toEqual(found);
    expect(body.checks.filter(({ passed, advice }) => passed !== (advice === null))).toEqual([]);
  });

  it.each<[receiver: string, behaveWith: (secret: string) => Behaviour, refusal?: number]>([
    ['verifies by hand', by({})],
    [
      'verifies by standardwebhooks',
      by({
        isGenuine: ({ body, headers }, secret) => {
          new Webhook(secret).verify(body, headers);
          return true;
        },
      }),
    ],
    [
      'verifies by the client',
      (secret) => (hit, response) =>
        void verifyWebhook({ secret, ...hit }).then(
          () => response.writeHead(204).end(),
          () => response.writeHead(401).end(),
        ),
      401,
    ],
  ])('does not blame a receiver that %s', async (_receiver, behaveWith, refusal = 400) => {
    const { body, hits } = await drill(behaveWith);
    expect(body.checks).toEqual(
      names.map((name) => ({
        name,
        expected: forged.includes(name) ? '4xx' : '2xx',
        answered: forged.includes(name) ? refusal : 204,
        tookMs: expect.any(Number),
        passed: true,
        advice: null,
      })),
    );
    expect(body.passed).toBe(true);
    expect(hits).toHaveLength(names.length);
    expect(new Set(hits.map(({ headers }) => headers['webhook-id'])).size).toBe(names.length - 1);
    expect(new Set(hits.map(({ headers }) => headers['x-webhook-drill']))).toEqual(new Set(['true']));
    expect(Math.max(...hits.map((hit) => hit.body.length))).toBe(256 * 1024);
  });

  it('explains the retries of an event that the receiver deliberately refuses', async () => {
    const { body } = await drill(by({ ofGenuine: ofSeen() }));
    expect(body.checks.find(({ passed }) => !passed)?.advice).toMatch(
      /may answer 2xx and ignore it.*tried four times and given up; ten failures in a row disable/,
    );
  });

  it('does not count 429 as the refusal of a forged delivery', async () => {
    const { body } = await drill(by({ refusal: 429 }));
    expect(failedIn(body)).toEqual(forged);
    expect(body.checks.at(-1)?.advice).toMatch(/^An answer of 429 says nothing about the signature\. \w/);
  });

  it('sends the headers of the webhook, and shows only the status of an answer', async () => {
    const secret = 'a-key-of-a-gateway';
    const { hits, body } = await drill(
      () => (hit, response) => void response.writeHead(500).end(hit.headers['x-key']),
      { headers: { 'X-Key': secret } },
    );
    expect(hits.map(({ headers }) => headers['x-key'])).toEqual(names.map(() => secret));
    expect(JSON.stringify(body)).not.toContain(secret);
  });

  it('changes no field of a webhook whose receiver fails every check', async () => {
    const client = house.newClient();
    await using receiver = await openReceiver(answer(500));
    const { id } = await client.register(receiver.url);
    const stored = () => house.store.collection<{ _id: string }>('webhook_endpoints').findOne({ _id: id });
    const before = await stored();
    const { body } = await client.ask('drill', { id });
    expect(body).toMatchObject({ passed: false });
    expect(failedIn(body)).toEqual(names);
    expect(receiver.hits).toHaveLength(names.length);
    expect(await stored()).toEqual({ ...before, drilledAt: expect.any(Date) });
    expect((await client.ask('deliveries', { id })).body.total).toBe(0);
    for (const stream of ['EVENTS', 'EVENT_BATCHES'])
      expect([...(await house.bus.countBySubject(stream, '>')).keys()].join()).not.toContain(
        client.integration,
      );
    // The next event is delivered as ever: the circuit is where it was.
    receiver.behave(answer(204));
    const [eventId] = await client.announce();
    const delivered = await receiver.received(1, {
      where: ({ headers }) => headers['webhook-id'] === eventId,
    });
    expect(delivered[0]?.headers).not.toHaveProperty('x-webhook-drill');
  });

  it('is refused for a disabled webhook with 409, and sends nothing', async () => {
    const client = house.newClient();
    await using receiver = await openReceiver();
    const { id } = await client.register(receiver.url);
    await client.ask('change', { id, body: { active: false } });
    await expect(client.ask('drill', { id })).rejects.toMatchObject({ code: 'conflict' });
    expect(receiver.hits).toEqual([]);
    await client.ask('change', { id, body: { active: true } });
    expect((await client.ask('drill', { id })).body.checks).toHaveLength(names.length);
  });

  it('is refused with 404 for the webhook of another integration', async () => {
    await using receiver = await openReceiver();
    const { id } = await house.newClient().register(receiver.url);
    await expect(house.newClient().ask('drill', { id })).rejects.toMatchObject({ code: 'not_found' });
    expect(receiver.hits).toEqual([]);
  });

  it('is carried out once a minute at most, whichever replica gets the request', async () => {
    const client = house.newClient();
    await using receiver = await openReceiver(answer(204));
    const { id } = await client.register(receiver.url);
    const asked = await Promise.allSettled(Array.from({ length: 10 }, () => client.ask('drill', { id })));
    const refused = asked.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []));
    expect(refused).toHaveLength(9);
    for (const failure of refused)
      expect(failure).toMatchObject({
        code: 'rate_limited',
        retryAfterSeconds: expect.toSatisfy(within(1, 60)),
      });
    expect(receiver.hits).toHaveLength(names.length);

    const minuteAgo = new Date(Date.now() - 60_000);
    await house.store
      .collection<{ _id: string }>('webhook_endpoints')
      .updateOne({ _id: id }, { $set: { drilledAt: minuteAgo } });
    expect((await client.ask('drill', { id })).body.checks).toHaveLength(names.length);
  });

  it('connects to no forbidden address, and answers the same for each forbidden address', async () => {
    const client = house.newClient();
    await using receiver = await openReceiver();
    const moved = { 'one.test': '10.0.0.7', 'two.test': '192.168.7.9' };
    const answers = [];
    for (const [name, address] of Object.entries(moved)) {
      addresses.set(name, address);
      const { id } = await client.register(receiver.url);
      const url = `http://${name}:${receiver.port}/`;
      await house.store
        .collection<{ _id: string }>('webhook_endpoints')
        .updateOne({ _id: id }, { $set: { url } });
      const { checks } = (await client.ask('drill', { id })).body;
      answers.push(
        checks.map(({ name: check, answered, passed, advice }) => ({
          check,
          answered,
          passed,
          advice: advice?.replace(name, 'the name') ?? null,
        })),
      );
    }
    const [first, second] = answers;
    expect(first).toEqual(second);
    expect(first?.map(({ answered }) => answered)).toEqual(names.map(() => null));
    expect(JSON.stringify(first)).not.toMatch(/10\.0\.0|192\.168/);
    expect(first?.[0]?.advice).toMatch(/refused: the name leads to a private address/);
    expect(receiver.hits).toEqual([]);
    expect(strangers).toEqual([]);
  });
});

const within = (least: number, most: number) => (value: unknown) =>
  typeof value === 'number' && value >= least && value <= most;

describe.concurrent('a drill of a receiver', { timeout: 60_000 }, () => {
  it('that answers nothing ends after one delivery', async () => {
    const { body, hits } = await drill(() => hang);
    expect(body.checks.map(({ answered }) => answered)).toEqual(names.map(() => null));
    expect(body.checks[0]?.advice).toMatch(/^There was no complete answer: timeout: .* within 10 s\. \w/);
    expect(new Set(body.checks.slice(1).map(({ advice }) => advice))).toEqual(
      new Set(['Not sent: the deliveries before had no answer.']),
    );
    expect(hits).toHaveLength(1);
  });

  it('that answers forged deliveries without end, or resets their connections, names these deliveries', async () => {
    let refused = 0;
    const { body } = await drill((secret) => (hit, response, request) => {
      if (statusBy(careful, secret, hit) === 204) return answer(204)(hit, response, request);
      refused += 1;
      if (refused === 1) return void request.socket.resetAndDestroy();
      if (refused > 2) return answer(400)(hit, response, request);
      response.writeHead(200);
      const talk = (error?: Error | null): void => {
        if (error === undefined || error === null) response.write('.'.repeat(64 * 1024), talk);
      };
      return talk();
    });
    const failed = body.checks.filter(({ passed }) => !passed);
    expect(failed.map(({ name }) => forged.includes(name))).toEqual([true, true]);
    const reasons = failed.map(
      ({ advice }) => /^There was no complete answer: ([^.]*)\./.exec(advice ?? '')?.[1],
    );
    expect(new Set(reasons)).toEqual(
      new Set([
        'the answer has more than 256 KiB in all',
        'the connection was closed before the answer was complete',
      ]),
    );
  });

  it('that leaves forged deliveries without an answer ends within 30 s, and names the unsent deliveries', async () => {
    const began = performance.now();
    const { body } = await drill(
      (secret) => (hit, response, request) => {
        if (statusBy(careful, secret, hit) === 204) answer(204)(hit, response, request);
      },
      { inFlightMax: 1 },
    );
    expect(performance.now() - began).toBeLessThan(32_000);
    expect(failedIn(body)).toEqual(forged);
    const advices = body.checks.slice(7).map(({ advice }) => advice?.split(/[:.]/, 1)[0]);
    expect(advices).toEqual([
      'There was no complete answer',
      'There was no complete answer',
      'Not sent',
      'Not sent',
      'Not sent',
    ]);
  });
});
