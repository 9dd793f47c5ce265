// What a login of deploy/nats can reach, by subjects and by reply subjects: what its account imports, and nothing else. nats-server
// checks no reply subject, and sends answers there with rights of its own.
import { jetstreamManager, type JetStreamManager } from '@nats-io/jetstream';
import { headers, type NatsConnection } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { granted, ownOfOperators, triedReplies, triedSubjects } from '../support/boundaries.ts';
import { eventually } from '../support/eventually.ts';
import {
  services,
  startNatsClusterWithUsers,
  startNatsWithUsers,
  users,
  type Logins,
  type User,
} from '../support/nats-users.ts';
import { narrowedConf } from '../support/narrowed-reader.ts';
import { runOps } from '../support/ops.ts';

/** The bodies that make the most of a subject: an empty one deletes, and a consumer pushes. */
function bodiesFor(subject: string): (deliver: string) => string {
  const [, stream = '', name = 'reader'] =
    /^\$JS\.API\.CONSUMER\.(?:DURABLE\.)?CREATE\.(\w+)(?:\.(\w+))?/.exec(subject) ?? [];
  if (stream !== '') {
    const config = { deliver_policy: 'all', ack_policy: 'none', idle_heartbeat: 1e8 };
    return (deliver) =>
      JSON.stringify({
        stream_name: stream,
        config: { name, durable_name: name, deliver_subject: deliver, ...config },
      });
  }
  if (subject.includes('.MSG.NEXT.')) return () => JSON.stringify({ batch: 2, no_wait: true });
  if (/(DIRECT|MSG)\.GET/.test(subject)) return () => JSON.stringify({ seq: 999_999 });
  return () => (subject.startsWith('$JS.ACK') ? '+ACK' : '');
}

/** What no login here may change, and how many messages there are of each subject. */
async function stateOf(manager: JetStreamManager) {
  const infos = await Array.fromAsync(manager.streams.list());
  const streams = infos.map(({ config, state, created }) => ({
    config,
    created,
    first: state.first_seq,
    consumers: state.consumer_count,
  }));
  const counts = new Map<string, number>();
  for (const { config } of infos) {
    const { state } = await manager.streams.info(config.name, { subjects_filter: '>' });
    for (const [subject, count] of Object.entries(state.subjects ?? {})) counts.set(subject, count);
  }
  return {
    streams: streams.toSorted((one, other) => one.config.name.localeCompare(other.config.name)),
    counts,
  };
}

/** The streams with a message each, a consumer, and a witness in each service's account. */
async function openVictims(nats: Logins, copies = 1) {
  await using opening = new AsyncDisposableStack();
  const url = { NATS_URL: nats.urlOf('ops'), STREAM_REPLICAS: String(copies) };
  await eventually(
    () => runOps(['streams', '--apply'], url),
    ({ code }) => code === 0,
    60_000,
  );
  const reader = ['reader', 'reader', '--from-start', '--apply'];
  await eventually(
    () => runOps(reader, url),
    ({ code }) => code === 0,
    60_000,
  );
  const operator = opening.use(await nats.connectAs('operator'));
  const manager = await jetstreamManager(operator.nats);
  const managers = [manager];
  for (let nth = 1; nth < copies; nth += 1) {
    managers.push(await jetstreamManager(opening.use(await nats.connectAs('operator', nth)).nats));
  }
  const publishers = {
    catalog: ['events.victim.supplier.created', 'event-batches.catalog.victim'],
    webhooks: ['attempts.victim'],
  };
  for (const [user, subjects] of Object.entries(publishers) as [User, string[]][]) {
    await using login = await nats.connectAs(user);
    const ofVictim = headers();
    ofVictim.set('integration', 'victim');
    for (const subject of subjects)
      await login.nats.request(subject, '{}', { headers: ofVictim, timeout: 10_000 });
  }
  /** The subjects on which a witness in another account heard something. */
  const heard = new Map<string, { witness: User; subject: string }>();
  for (const user of services) {
    const witness = opening.use(await nats.connectAs(user));
    for (const subject of [
      `svc.${user}.>`,
      'svc.>',
      'webhooks.>',
      '_INBOX_>',
      `_INBOX_${user}.>`,
      'events.>',
      'attempts.>',
    ]) {
      witness.nats.subscribe(subject, {
        callback(error, message) {
          if (error !== null) return;
          heard.set(`${user} ${message.subject}`, { witness: user, subject: message.subject });
          // A service answers, and an empty answer does the most.
          if (message.subject.startsWith('svc.')) message.respond('');
        },
      });
    }
    await witness.nats.flush();
  }
  let before = await stateOf(manager);
  const open = opening.move();
  return {
    streams: before.streams,
    /** The streams now, and the subjects of what was stored since the last look, or heard by others than the login. */
    async look(user: string) {
      // nats-server works on these requests after all that came before.
      for (let turn = 0; turn < 3; turn += 1) for (const { streams } of managers) await streams.list().next();
      const now = await stateOf(manager);
      const stored = [...now.counts.keys()].filter(
        (subject) => now.counts.get(subject) !== before.counts.get(subject),
      );
      const seen = Array.from(heard.values()).filter(({ witness }) => witness !== user);
      before = now;
      heard.clear();
      return { streams: now.streams, reached: [...stored, ...seen.map(({ subject }) => subject)] };
    },
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

async function attack(nats: NatsConnection, own: RegExp | undefined): Promise<void> {
  const forged = headers();
  forged.set('integration', 'victim');
  forged.append('integration', 'other');
  forged.set('Nats-Trace-Dest', 'svc.catalog.suppliers.erase');
  const replies = triedReplies.filter((reply) => own?.test(reply) !== true);
  for (const subject of triedSubjects) {
    if (own?.test(subject) === true) continue;
    const bodyFor = bodiesFor(subject);
    for (const reply of replies) {
      try {
        nats.publish(subject, bodyFor(reply), { reply });
      } catch {
        // The client refuses some subjects by itself.
      }
    }
    nats.publish(subject, '', { headers: forged, reply: 'svc.catalog.suppliers.erase' });
    await nats.flush();
  }
}

it('the tests of logins try at least 400 subjects and at least 40 reply subjects', () => {
  expect(new Set(triedSubjects).size).toBeGreaterThanOrEqual(400);
  expect(new Set(triedReplies).size).toBeGreaterThanOrEqual(40);
});

describe('on one server', () => {
  const ending = new AsyncDisposableStack();
  let nats: Logins;
  let victims: Awaited<ReturnType<typeof openVictims>>;
  beforeAll(async () => {
    nats = ending.use(await startNatsWithUsers());
    victims = ending.use(await openVictims(nats));
  });
  afterAll(() => ending.disposeAsync());

  it.each(users)(
    'the login %s reaches only what its account imports, by any subject with any reply subject',
    async (user) => {
      await using login = await nats.connectAs(user);
      await attack(login.nats, ownOfOperators[user]);
      const { streams, reached } = await victims.look(user);
      expect(streams).toEqual(victims.streams);
      expect(reached.filter((subject) => !granted[user].some((one) => one.test(subject)))).toEqual([]);
    },
    120_000,
  );

  it.each(['gateway', 'webhooks', 'reader'] as const)(
    'the login %s that requests 10,000 consumers, or sends a subject of 5 KB, harms only its own connection',
    async (user) => {
      await using login = await nats.connectAs(user);
      for (let nth = 0; nth < 10_000; nth += 1) {
        const subject = `$JS.API.CONSUMER.DURABLE.CREATE.EVENTS.c${nth}`;
        login.nats.publish(subject, bodiesFor(subject)(`_INBOX_${user}.x`), { reply: `_INBOX_${user}.y` });
      }
      await login.nats.flush();
      const closed = login.nats.status()[Symbol.asyncIterator]().next();
      login.nats.publish(`events.${'x'.repeat(5_000)}.supplier.created`, '');
      expect((await closed).value).toMatchObject({ type: expect.stringMatching(/error|disconnect/) });
      const { streams, reached } = await victims.look(user);
      expect(streams).toEqual(victims.streams);
      expect(reached).toEqual([]);
    },
  );
});

it('on a cluster of three, from each of its servers, a login reaches what its account imports and nothing else', async () => {
  await using nats = await startNatsClusterWithUsers();
  await using victims = await openVictims(nats, 3);
  for (const user of users) {
    for (const nth of [0, 1, 2]) {
      await using login = await nats.connectAs(user, nth);
      await attack(login.nats, ownOfOperators[user]);
    }
    const { streams, reached } = await victims.look(user);
    expect(streams).toEqual(victims.streams);
    expect(reached.filter((subject) => !granted[user].some((one) => one.test(subject)))).toEqual([]);
  }
}, 120_000);

it('the login of a reader of one integration reaches only the listings of that integration', async () => {
  await using conf = await narrowedConf('billing', 'acme');
  await using nats = await startNatsWithUsers(conf.path);
  await using victims = await openVictims(nats);
  await using login = await conf.connect(nats);
  await attack(login.nats, undefined);
  for (const listing of ['svc.catalog.suppliers.list', 'svc.batches.dds.list'])
    for (const integration of ['.acme', '.other', '.*', '.>', ''])
      login.nats.publish(`${listing}${integration}`, '', { reply: '_INBOX_billing.x' });
  await login.nats.flush();
  const { streams, reached } = await victims.look('billing');
  expect(streams).toEqual(victims.streams);
  expect(reached.toSorted()).toEqual(['svc.batches.dds.list.acme', 'svc.catalog.suppliers.list.acme']);
}, 120_000);
