import { randomUUID } from 'node:crypto';
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { jetstream } from '@nats-io/jetstream';
import { headers, type Msg } from '@nats-io/transport-node';
import { afterAll, beforeAll, expect, inject, it, onTestFailed } from 'vitest';
import { accountOf } from '../../services/ops/src/reader-account.ts';
import { temporaryFolder } from '../support/folder.ts';
import { narrowedConf, type NarrowedConf } from '../support/narrowed-reader.ts';
import { bringTo, deleteConsumer, natsConfFile, startNatsWithUsers } from '../support/nats-users.ts';
import { runOps } from '../support/ops.ts';
import { openSystemWithUsers, type SystemWithUsers } from '../support/users-system.ts';

// Another team's service, held to one integration by the account that `ops reader --integration` prints: all four services run on
// a nats-server with that account.

/** Without quotes, nats-server would take this name for a number. */
const name = '007';
const mine = `mine-${randomUUID()}`;
const other = `other-${randomUUID()}`;
let conf: NarrowedConf;
let system: SystemWithUsers;

beforeAll(async () => {
  conf = await narrowedConf(name, mine);
  system = await openSystemWithUsers(inject('engines').mongodb, conf.path);
  for (const integration of [mine, other])
    await system.call(integration, 'POST', '/suppliers', {
      suppliers: [{ externalId: `S-${integration.slice(0, 5)}`, name: 'One', country: 'SE' }],
    });
}, 60_000);
afterAll(async () => {
  await system[Symbol.asyncDispose]();
  await conf[Symbol.asyncDispose]();
});

it('a reader of one integration reads its events by its consumer, and its records by an import', async () => {
  onTestFailed(() => deleteConsumer(system.nats, name));
  const ops = { NATS_URL: system.nats.urlOf('ops') };
  const made = await runOps(['reader', name, '--integration', mine, '--from-start', '--apply'], ops);
  expect(made).toMatchObject({ code: 0, stdout: expect.stringContaining(accountOf(name, mine)) });
  await using reader = await conf.connect(system.nats);
  const consumer = await jetstream(reader.nats).consumers.get('EVENTS', name);
  const read: string[] = [];
  for await (const message of await consumer.fetch({ max_messages: 2, expires: 10_000 })) {
    read.push(message.subject);
    message.ack();
  }
  expect(read).toEqual([`events.${mine}.supplier.created`, `events.${mine}.sync.completed`]);
  const forged = headers();
  forged.set('integration', other);
  for (const asked of [{}, { headers: forged }]) {
    const reply = await reader.nats.request(`svc.catalog.suppliers.list.${mine}`, '', {
      ...asked,
      timeout: 5_000,
    });
    expect(reply.json()).toMatchObject({ total: 1, entities: [{ externalId: 'S-mine-' }] });
  }
});

it('a reader of one integration gets no message of other integrations by subscriptions, stream states or listings', async () => {
  await using reader = await conf.connect(system.nats);
  const heard: string[] = [];
  for (const subject of ['events.>', 'event-batches.>', 'svc.>', '*.>', '>'])
    reader.nats.subscribe(subject, {
      callback: (_error, { subject: on }: Msg) => void (on.startsWith(`_INBOX_${name}.`) || heard.push(on)),
    });
  await reader.nats.flush();
  for (const integration of [mine, other])
    await system.call(integration, 'POST', '/suppliers', {
      suppliers: [{ externalId: 'S-2', name: 'Two', country: 'SE' }],
    });
  const filter = JSON.stringify({ subjects_filter: '>' });
  const forged = headers();
  forged.set('integration', mine);
  const asked = [
    '$JS.API.STREAM.INFO.EVENTS',
    '$JS.API.STREAM.LIST',
    '$JS.API.STREAM.NAMES',
    '$JS.API.CONSUMER.LIST.EVENTS',
    '$JS.API.CONSUMER.INFO.EVENTS.reader',
    '$JS.API.DIRECT.GET.EVENTS',
    'svc.catalog.suppliers.list',
    `svc.catalog.suppliers.list.${other}`,
    `svc.catalog.suppliers.list.*`,
    `svc.catalog.suppliers.push`,
  ];
  for (const subject of asked) {
    const answer = await reader.nats.request(subject, filter, { headers: forged, timeout: 1_000 }).then(
      (reply) => reply.string(),
      () => 'nobody',
    );
    // nats-server itself answers for an account without JetStream.
    expect({ subject, answer: /^nobody$|not enabled for account/.test(answer) ? 'nobody' : answer }).toEqual({
      subject,
      answer: 'nobody',
    });
  }
  await reader.nats.flush();
  // What this login itself asks, its own account hears.
  expect(heard.filter((subject) => !asked.includes(subject))).toEqual([]);
});

it('a running nats-server takes the account of a reader, and its imports, by two reloads', async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, 'nats.conf');
  await copyFile(natsConfFile, path);
  await using nats = await startNatsWithUsers(path);
  const asked = 'svc.catalog.suppliers.list.acme';
  await using catalog = await nats.connectAs('catalog');
  catalog.nats.subscribe(asked, { callback: (_error, message) => void message.respond('none') });
  await using narrowed = await narrowedConf('billing', 'acme');
  await expect(narrowed.connect(nats)).rejects.toThrow(/authorization/i);
  await bringTo(narrowed.path, path, nats);
  await expect
    .poll(async () => {
      // nats-server may leave a client without an answer that connects while it reloads.
      await using reader = await narrowed.connect(nats, { timeout: 1_000 });
      return (await reader.nats.request(asked)).string();
    })
    .toBe('none');
});
