import { randomUUID } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { getServers, setServers } from 'node:dns';
import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { ConfigError } from '@integration-sync/runtime/config';
import { openLog } from '@integration-sync/runtime/log';
import {
  duplicateIndexes,
  openStore,
  readInChunks,
  sortStoreError,
  storeFailure,
  watchIdentity,
  writeInChunks,
  type Document,
  type NamedIndex,
  type Store,
} from '@integration-sync/runtime/store';
import { MongoBulkWriteError } from 'mongodb';
import { eventually } from '../../support/eventually.ts';
import { openTestLog } from '../../support/log.ts';
import { openMongos } from '../../support/mongos.ts';
import { standStill } from '../../support/stand-still.ts';
import { countTurns } from '../../support/turns.ts';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';

interface Farm {
  _id: string;
  name: string;
  hectares?: number;
}

const log = openLog({ service: 'test', level: 'silent' });
const { mongodb: url } = inject('engines');
const database = `store-${randomUUID().slice(0, 8)}`;
const open = (address = url): Promise<Store> => openStore({ url: address, database, log });
const asItIs = (farm: Document): Document => farm;
const freshName = (): string => `c${randomUUID().slice(0, 8)}`;

let store: Store;
beforeAll(async () => {
  store = await open();
});
afterAll(async () => {
  await store.database.dropDatabase();
  await store[Symbol.asyncDispose]();
});

const confirm = async (): Promise<void> => {};
const refuse = () => Promise.reject(new Error('too late'));
const farms = () => store.collection<Farm>(freshName());
const caught = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => expect.fail('it went well'),
    (error: unknown) => error,
  );

describe('an open MongoDB store', () => {
  it('is ready', async () => {
    expect(store.connected).toBe(true);
    await expect(store.database.command({ ping: 1 })).resolves.toMatchObject({ ok: 1 });
  });

  it('refuses with 503 a query that names an index which an operator dropped', async () => {
    const collection = freshName();
    await store.ensureIndexes(collection, [{ name: 'named', key: { name: 1 } }]);
    const query = () => store.collection<Farm>(collection).find({ name: 'Oak' }).hint('named').toArray();
    expect(await query()).toEqual([]);
    await store.database.collection(collection).dropIndex('named');
    const error = await caught(query());
    expect([sortStoreError(error), storeFailure(error)]).toEqual([
      'refused',
      expect.objectContaining({ code: 'unavailable', detail: expect.stringMatching(/refuses/) }),
    ]);
  });

  it('returns the id of a collection soon after the collection is created, although a first query found none', async () => {
    const collection = freshName();
    await using identity = watchIdentity(store, collection, log);
    await wait(200);
    expect(identity.now()).toBeUndefined();
    await store.database.createCollection(collection);
    expect(await eventually(identity.now, (id) => id !== undefined, 5_000)).toMatch(/^".+"$/);
  });

  it('knows whether it is connected to a mongos', async () => {
    expect(store.isSharded).toBe(false);
    await using mongos = await openMongos(url);
    await using sharded = await open(mongos.url);
    expect(sharded.isSharded).toBe(true);
  });

  it('writes with w: majority and j: true, whatever its address says', async () => {
    const separator = url.includes('?') ? '&' : url.endsWith('/') ? '?' : '/?';
    for (const said of ['w=0&journal=false&wtimeoutMS=1', 'w=0&j=false']) {
      await using lax = await open(`${url}${separator}${said}`);
      for (const durable of [lax.database, lax.collection('any')]) {
        expect(durable.writeConcern).toMatchObject({ w: 'majority', j: true });
      }
    }
  });

  it('logs the ignored options of its address in one line', async () => {
    const separator = url.includes('?') ? '&' : url.endsWith('/') ? '?' : '/?';
    const told = openTestLog();
    const address = `${url}${separator}W=1&j=false&maxPoolSize=5&appName=mine&retryReads=false&compressors=zstd,zlib`;
    await using _lax = await openStore({ url: address, database, log: told.log, poolSize: 5 });
    const lines = told
      .text()
      .split('\n')
      .filter((line) => line.includes('are ignored'));
    expect(lines).toHaveLength(1);
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({
      level: 'warn',
      overridden: ['w=1: majority', 'j=false: true', 'appname=mine: integration-sync'],
    });
    const quiet = openTestLog();
    await using _same = await openStore({
      url: `${url}${separator}w=majority`,
      database,
      log: quiet.log,
    });
    expect(quiet.text()).not.toContain('are ignored');
  });

  it('logs its address without the options, one of which may be a password', async () => {
    const separator = url.includes('?') ? '&' : url.endsWith('/') ? '?' : '/?';
    const told = openTestLog();
    const address = `${url}${separator}tlsCertificateKeyFilePassword=hunter2`;
    await using _store = await openStore({ url: address, database, log: told.log });
    expect(told.text()).toContain('MongoDB answers pings');
    expect(told.text()).not.toContain('hunter2');
  });

  it('reads its own writes by every kind of read', async () => {
    const collection = farms();
    const all = [
      { _id: 'a', name: 'Alma', hectares: 3 },
      { _id: 'b', name: 'Boa Vista', hectares: 1 },
      { _id: 'c', name: 'Cerro' },
    ];
    await collection.insertMany(all);
    expect(await collection.findOne({ _id: 'b' })).toStrictEqual(all[1]);
    expect(await collection.find().sort({ _id: -1 }).limit(2).toArray()).toStrictEqual([all[2], all[1]]);
    expect(await collection.countDocuments({ hectares: { $gt: 0 } })).toBe(2);
    const summed = collection.aggregate([{ $group: { _id: null, sum: { $sum: '$hectares' } } }]);
    expect(await summed.toArray()).toStrictEqual([{ _id: null, sum: 4 }]);

    const names: string[] = [];
    for await (const { name } of collection.find().sort({ _id: 1 }).batchSize(1)) names.push(name);
    expect(names).toStrictEqual(['Alma', 'Boa Vista', 'Cerro']);

    const cursor = collection.find({ _id: 'a' }).map(({ name }) => name.length);
    expect(await cursor.hasNext()).toBe(true);
    expect(await cursor.next()).toBe(4);
    expect(await cursor.next()).toBeNull();
  });

  it('reads many ids in several queries, and sends no query for no ids', async () => {
    const collection = farms();
    const all = Array.from({ length: 250 }, (_, index) => ({ _id: String(index), name: 'new' }));
    await collection.insertMany(all);
    const whole = { batchSize: 251, singleBatch: true, raw: true };
    expect(new Set(await readInChunks(collection.find({}, whole), asItIs))).toEqual(new Set(all));
    expect(await readInChunks(collection.find({ name: 'old' }, whole), asItIs)).toEqual([]);
  });

  it('yields to the event loop while it prepares a large write', async () => {
    const turns = countTurns();
    const seen = new Set<number>();
    const all = Array.from({ length: 500 }, (_, index) => ({ _id: String(index), name: 'new' }));
    await writeInChunks(farms(), all, confirm, (bulk, farm) => {
      seen.add(turns.count);
      bulk.insert(farm);
    });
    turns.stop();
    expect(seen.size).toBe(4);
  });

  it('does not send a write that its caller has already cancelled', async () => {
    const collection = farms();
    const writing = writeInChunks(collection, [{ _id: 'a', name: 'a' }], refuse, (bulk, farm) =>
      bulk.insert(farm),
    );
    expect(await caught(writing)).toMatchObject({ message: 'too late' });
    expect(await collection.countDocuments({})).toBe(0);
  });

  it('fails operations immediately when it is closed', async () => {
    const closed = await open();
    const collection = closed.collection<Farm>(freshName());
    await closed[Symbol.asyncDispose]();
    expect(sortStoreError(await caught(collection.findOne()))).toBe('unavailable');
  });

  it('does not cut off a long operation of a living database', { timeout: 60_000 }, async () => {
    const collection = farms();
    const many = Array.from({ length: 1_000 }, (_, n) => ({ _id: String(n), name: 'Alma' }));
    await collection.insertMany(many);
    let tookMs = 0;
    // Each takes some times as long as the one before, and the last not much longer than it must.
    const times = (): number => Math.min(Math.max(3_500 / tookMs, 2), 8);
    for (let steps = 500; tookMs < 3_000; steps = Math.ceil(steps * times())) {
      const begun = performance.now();
      const sum = { $sum: { $map: { input: { $range: [0, steps] }, in: { $mod: ['$$this', 7] } } } };
      await collection.aggregate([{ $group: { _id: null, sum: { $sum: sum } } }]).toArray();
      tookMs = performance.now() - begun;
    }
    expect(store.connected).toBe(true);
  });

  it('does not count a pause of its own process as silence of the database', async () => {
    const collection = farms();
    await collection.insertOne({ _id: 'a', name: 'Alma' });
    const underWay = collection.updateOne({ _id: 'a' }, { $set: { hectares: 1 } });
    standStill(4_000);
    await expect(underWay).resolves.toMatchObject({ modifiedCount: 1 });
    await expect(collection.findOne()).resolves.toMatchObject({ hectares: 1 });
    expect(store.connected).toBe(true);
  });
});

describe('a duplicate document', () => {
  it('is named by its index in an unordered write, and the other documents are written', async () => {
    const collection = farms();
    await collection.insertMany([
      { _id: 'b', name: 'first' },
      { _id: 'd', name: 'first' },
    ]);
    const pushed = ['a', 'b', 'c', 'd', 'e'].map((_id) => ({ _id, name: 'second' }));
    const error = await caught(collection.insertMany(pushed, { ordered: false }));
    expect(sortStoreError(error)).toBe('duplicate');
    expect(duplicateIndexes(error)).toStrictEqual([1, 3]);
    const stored = await collection.find().sort({ _id: 1 }).toArray();
    expect(stored.map(({ name }) => name)).toStrictEqual(['second', 'first', 'second', 'first', 'second']);
  });

  it('is named by its index in a write of several commands', async () => {
    const collection = farms();
    await collection.insertOne({ _id: '150', name: 'there already' });
    const all = Array.from({ length: 300 }, (_, index) => ({ _id: String(index), name: 'new' }));
    const failing = writeInChunks(collection, all, confirm, (bulk, farm) => bulk.insert(farm));
    expect(duplicateIndexes(await caught(failing))).toEqual([150]);
    expect(await collection.countDocuments({ name: 'new' })).toBe(299);
  });

  it('is reported for a single write', async () => {
    const collection = farms();
    await collection.insertOne({ _id: 'a', name: 'first' });
    const error = await caught(collection.insertOne({ _id: 'a', name: 'second' }));
    expect(sortStoreError(error)).toBe('duplicate');
    await expect(collection.findOne()).resolves.toStrictEqual({ _id: 'a', name: 'first' });
  });

  it('does not hide another error in the same unordered write', async () => {
    const collection = store.collection<{ _id: unknown }>(freshName());
    await collection.insertOne({ _id: 'a' });
    // An array cannot be an _id.
    const pushed = [{ _id: 'a' }, { _id: ['b'] }, { _id: 'c' }];
    const error = await caught(collection.insertMany(pushed, { ordered: false }));
    expect(sortStoreError(error)).toBe('bug');
    expect(() => duplicateIndexes(error)).toThrow(MongoBulkWriteError);
  });
});

describe('an error by a mistake in the code', () => {
  it('comes to the caller as the driver’s own error', async () => {
    const collection = farms();
    const error = await caught(collection.updateOne({ _id: 'a' }, { $nonsense: { name: 'x' } }));
    expect(sortStoreError(error)).toBe('bug');
    expect(() => storeFailure(error)).toThrow(/nonsense/);
  });
});

async function indexesOf(name: string): Promise<string[]> {
  const indexes = await store.collection(name).listIndexes().toArray();
  return indexes.map((index) => String(index['name'])).toSorted();
}

describe('indexes', () => {
  const order: NamedIndex = { name: 'order', key: { integration: 1, order: 1 } };
  const expiry: NamedIndex = { name: 'expiry', key: { at: 1 }, expireAfterSeconds: 600 };
  const unique: NamedIndex = { name: 'number', key: { number: 1 }, unique: true, sparse: true };
  const partial: NamedIndex = {
    name: 'open',
    key: { at: 1, open: 1 },
    partialFilterExpression: { open: true },
  };

  it('are created by the first start, and left unchanged by the next start', async () => {
    const name = freshName();
    const indexes = [order, expiry, unique, partial];
    await store.ensureIndexes(name, indexes);
    await store.ensureIndexes(name, indexes);
    expect(await indexesOf(name)).toStrictEqual(['_id_', 'expiry', 'number', 'open', 'order']);
    const collection = store.collection<{ _id: string; number: number }>(name);
    await collection.insertOne({ _id: 'a', number: 1 });
    expect(sortStoreError(await caught(collection.insertOne({ _id: 'b', number: 1 })))).toBe('duplicate');
  });

  it('are added to existing indexes', async () => {
    const name = freshName();
    await store.ensureIndexes(name, [order]);
    await store.ensureIndexes(name, [expiry]);
    expect(await indexesOf(name)).toStrictEqual(['_id_', 'expiry', 'order']);
  });

  it('are created once by replicas that start together', async () => {
    const name = freshName();
    await using other = await open();
    const both = [store, other, store, other].map((replica) => replica.ensureIndexes(name, [order, unique]));
    await Promise.all(both);
    expect(await indexesOf(name)).toStrictEqual(['_id_', 'number', 'order']);
  });

  it.each<[string, NamedIndex, NamedIndex]>([
    ['another key', order, { ...order, key: { integration: 1 } }],
    ['another order of the key', order, { ...order, key: { order: 1, integration: 1 } }],
    ['another direction', order, { ...order, key: { integration: 1, order: -1 } }],
    ['another expiry', expiry, { ...expiry, expireAfterSeconds: 60 }],
    ['no expiry', expiry, { name: 'expiry', key: { at: 1 } }],
    ['uniqueness', order, { ...order, unique: true }],
    ['every document in it', unique, { name: 'number', key: { number: 1 }, unique: true }],
    ['another filter', partial, { ...partial, partialFilterExpression: { open: false } }],
  ])('with %s under the same name are refused, and nothing changes', async (_what, stored, wanted) => {
    const name = freshName();
    await store.ensureIndexes(name, [stored]);
    const before = await store.collection(name).listIndexes().toArray();
    const error = await caught(store.ensureIndexes(name, [{ name: 'bystander', key: { x: 1 } }, wanted]));
    expect(String(error)).toContain(`The index ${wanted.name} of ${database}.${name} is {"key":`);
    expect(await store.collection(name).listIndexes().toArray()).toStrictEqual(before);
  });
});

// Setup: the DNS fails at first, and later knows no such name.
// What this proves: a start waits while the DNS fails, and then ends with a wrong setting.
it('an address of mongodb+srv is resolved again while the DNS fails', async () => {
  const [servfail, nxdomain] = [2, 3];
  let code = servfail;
  const server = createSocket('udp4', (question, { port, address }) => {
    const answer = Buffer.from(question);
    answer.writeUInt16BE(0x8180 + code, 2);
    server.send(answer, port, address);
  });
  server.bind(0, '127.0.0.1');
  await once(server, 'listening');
  const usual = getServers();
  setServers([`127.0.0.1:${server.address().port}`]);
  try {
    const told = openTestLog();
    const address = 'mongodb+srv://cluster.example.test/';
    const opening = caught(openStore({ url: address, database, log: told.log }));
    await eventually(told.text, (lines) => lines.includes('waiting for MongoDB'));
    expect(told.text()).toContain('ESERVFAIL');
    code = nxdomain;
    const error = await opening;
    expect(error).toBeInstanceOf(ConfigError);
    expect(String(error)).toContain('ENOTFOUND');
  } finally {
    setServers(usual);
    server.close();
  }
});

describe('an invalid address of MongoDB', () => {
  it.each(['mongodb://', 'mongodb://host:port/', 'mongodb://127.0.0.1:1/?unknownOption=1', 'http://host'])(
    'is a wrong setting: %s',
    async (address) => {
      const error = await caught(open(address));
      expect(error).toBeInstanceOf(ConfigError);
      expect(String(error)).toMatch(/^ConfigError: MONGODB_URL: ./);
    },
  );

  it.each([
    [
      'readPreference=secondaryPreferred',
      'expected no readPreference other than primary, as writes depend on reads, got secondaryPreferred',
    ],
    [
      'compressors=snappy,zlib',
      'compressors=snappy needs the package snappy, which is not installed here: use zstd or zlib, which Node brings',
    ],
    [
      'proxyHost=127.0.0.1',
      'proxyHost needs the package socks, which is not installed here: use a way to MongoDB without a SOCKS proxy',
    ],
    [
      'authMechanism=GSSAPI',
      'authMechanism=GSSAPI needs the package kerberos, which is not installed here: use SCRAM-SHA-256 or MONGODB-X509',
    ],
    [
      'authMechanism=MONGODB-AWS',
      'authMechanism=MONGODB-AWS needs the package @aws-sdk/credential-providers, which is not installed here: use SCRAM-SHA-256 or MONGODB-X509',
    ],
  ])('is a wrong setting where it needs a missing package: %s', async (option, words) => {
    const login = option.endsWith('AWS') ? '' : 'me:hunter2@';
    const error = await caught(open(`mongodb://${login}127.0.0.1:1/?${option}`));
    expect(error).toBeInstanceOf(ConfigError);
    expect(String(error)).toBe(`ConfigError: MONGODB_URL: ${words}`);
  });

  it('is a wrong setting where its file of certificates is missing', async () => {
    const error = await caught(open('mongodb://127.0.0.1:1/?tls=true&tlsCAFile=/absent/ca.pem'));
    expect(error).toBeInstanceOf(ConfigError);
    expect(String(error)).toMatch(/^ConfigError: MONGODB_URL: .*no such file.*\/absent\/ca\.pem/);
  });

  it('is shown without its password', async () => {
    expect(String(await caught(open('mongodb://root:hunter2@host:port/')))).not.toContain('hunter2');
  });

  it('is a wrong setting where the database refuses its password', async () => {
    const withPassword = url.replace('://', '://stranger:hunter2@');
    const error = await caught(open(withPassword));
    expect(error).toBeInstanceOf(ConfigError);
    expect(String(error)).not.toContain('hunter2');
  });
});
