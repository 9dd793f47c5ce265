// Puts a data set into a fresh database and a fresh NATS: as it was, in the places where it was. Only this
// changes:
//
//   expireAt, expiresAt    moved by the age of the data set, as MongoDB and webhooks would have forgotten what they are of
//   madeAt, stream         the incarnations of EVENTS and EVENT_BATCHES as they are now, or webhooks would take them for others
//   url                    the receivers listen on another port
import { readdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Store } from '@integration-sync/runtime/store';
import { headers, type Msg } from '@nats-io/transport-node';
import { BSON, type Document, type IndexDescription } from 'mongodb';
import { filesOf, former, type Known, type StoredMessage, type StoredStream } from './data-set.ts';
import { openNats, type Nats } from './nats.ts';

const files = filesOf(former.release);

export const readKnown = async (): Promise<Known> => JSON.parse(await readFile(files.known, 'utf8'));

const readStreams = async (): Promise<StoredStream[]> => JSON.parse(await readFile(files.streams, 'utf8'));

const readLines = async (path: string): Promise<string[]> =>
  (await readFile(path, 'utf8')).split('\n').filter((line) => line !== '');

export const readMessages = async (stream: string): Promise<StoredMessage[]> =>
  (await readLines(join(files.nats, `${stream}.jsonl`))).map((line) => JSON.parse(line));

export interface Place {
  store: Store;
  natsUrl: string;
  receiverPort: number;
}

export async function restore({ store, natsUrl, receiverPort }: Place): Promise<void> {
  await using nats = await openNats(natsUrl);
  for (const stream of await readStreams()) await restoreStream(nats, stream);
  const [madeAt, stream] = [await incarnationOf(nats, 'EVENTS'), await incarnationOf(nats, 'EVENT_BATCHES')];
  const ageMs = Date.now() - Date.parse((await readKnown()).madeAt);
  await restoreMongodb(store, (document) => ({
    ...document,
    ...('stream' in document ? { stream: stream.toISOString() } : {}),
    ...('missed' in document ? { missed: ofStream(document['missed'], stream.toISOString()) } : {}),
    ...movedBy(ageMs, document, 'expireAt'),
    ...('previousSecrets' in document
      ? {
          previousSecrets: document['previousSecrets'].map((one: Document) => ({
            ...one,
            ...movedBy(ageMs, one, 'expiresAt'),
          })),
        }
      : {}),
    ...('madeAt' in document ? { madeAt } : {}),
    ...('url' in document ? { url: elsewhere(String(document['url']), receiverPort) } : {}),
  }));
}

const incarnationOf = async ({ manager }: Nats, stream: string): Promise<Date> =>
  new Date((await manager.streams.info(stream)).created);

const movedBy = (ms: number, document: Document, field: string): Document =>
  document[field] instanceof Date ? { [field]: new Date(document[field].getTime() + ms) } : {};

const ofStream = (missed: Readonly<Record<string, object>>, stream: string): Document =>
  Object.fromEntries(Object.entries(missed).map(([epoch, offset]) => [epoch, { ...offset, stream }]));

function elsewhere(url: string, port: number): string {
  const moved = new URL(url);
  moved.port = String(port);
  return moved.href;
}

async function restoreMongodb(store: Store, change: (document: Document) => Document): Promise<void> {
  for (const file of await readdir(files.mongodb)) {
    const lines = await readLines(join(files.mongodb, file));
    const documents = lines.map((line) => change(BSON.EJSON.parse(line)));
    if (documents.length === 0) continue;
    await store.database.collection(basename(file, '.jsonl')).insertMany(documents);
  }
  const indexes: Record<string, IndexDescription[]> = JSON.parse(await readFile(files.indexes, 'utf8'));
  for (const [name, some] of Object.entries(indexes)) {
    if (some.length > 0) await store.database.collection(name).createIndexes(some);
  }
}

const atOnce = 64;

async function restoreStream({ connection, manager }: Nats, stream: StoredStream): Promise<void> {
  const { config, lastSequence } = stream;
  const { name } = config;
  await manager.streams.add(config);
  const messages = await readMessages(name);
  const bySequence = new Map(messages.map((message) => [message.sequence, message]));
  const filler = { subject: config.subjects[0]?.replaceAll(/[*>]/g, 'removed') ?? '', headers: {}, body: '' };
  const removed: number[] = [];
  let underWay: Promise<Msg>[] = [];
  for (let sequence = 1; sequence <= lastSequence; sequence += 1) {
    const message = bySequence.get(sequence);
    if (message === undefined) removed.push(sequence);
    const { subject, headers: stored, body } = message ?? filler;
    const options = { headers: writeHeaders(stored), timeout: 10_000 };
    // One connection keeps their order.
    underWay.push(connection.request(publishedSubject(subject), body, options));
    if (underWay.length < atOnce && sequence < lastSequence) continue;
    const { seq } = (await Promise.all(underWay)).at(-1)?.json<{ seq: number }>() ?? {};
    if (seq !== sequence) throw new Error(`${name} has at ${seq} what was at ${sequence}`);
    underWay = [];
  }
  const first = messages[0]?.sequence ?? lastSequence + 1;
  await manager.streams.purge(name, { seq: first });
  await Promise.all(
    removed
      .filter((sequence) => sequence > first)
      .map((sequence) => manager.streams.deleteMessage(name, sequence, false)),
  );
}

/** EVENT_BATCHES puts the partition into the subject that a service publishes to. */
const publishedSubject = (stored: string): string => stored.replace(/^(event-batches)\.\d+/, '$1');

/** Without the headers that name a message's atomic batch: the stream has it already. */
function writeHeaders(stored: Readonly<Record<string, string>>) {
  const written = headers();
  for (const [name, value] of Object.entries(stored)) {
    if (!name.startsWith('Nats-Batch-')) written.set(name, value);
  }
  return written;
}
