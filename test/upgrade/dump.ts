// The content of MongoDB and NATS, as files.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Store } from '@integration-sync/runtime/store';
import type { JetStreamManager, StreamInfo } from '@nats-io/jetstream';
import { BSON } from 'mongodb';
import { filesOf, version, type StoredMessage, type StoredStream } from './data-set.ts';

import { openNats } from './nats.ts';

const files = filesOf(version);

export const writeJson = (path: string, value: unknown): Promise<void> =>
  writeFile(path, `${textOf(value, '')}\n`);

/** An object of plain values takes one line. */
function textOf(value: unknown, indent: string): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const parts = Object.entries(value).filter(([, part]) => part !== undefined);
  if (!parts.some(([, part]) => typeof part === 'object' && part !== null)) return JSON.stringify(value);
  const inner = `${indent}  `;
  const lines = parts.map(([name, part]) => {
    const label = Array.isArray(value) ? '' : `${JSON.stringify(name)}: `;
    return `${inner}${label}${textOf(part, inner)}`;
  });
  const [open, close] = Array.isArray(value) ? '[]' : '{}';
  return `${open}\n${lines.join(',\n')}\n${indent}${close}`;
}

const writeLines = (path: string, lines: readonly string[]): Promise<void> =>
  writeFile(path, lines.map((line) => `${line}\n`).join(''));

export async function dumpMongodb(store: Store): Promise<void> {
  await mkdir(files.mongodb, { recursive: true });
  const indexes: Record<string, object[]> = {};
  const names = (await store.database.listCollections().toArray()).map(({ name }) => name);
  for (const name of names.toSorted()) {
    const collection = store.database.collection(name);
    const documents = await collection.find({}, { promoteBuffers: false }).sort({ _id: 1 }).toArray();
    await writeLines(
      join(files.mongodb, `${name}.jsonl`),
      documents.map((document) => BSON.EJSON.stringify(document)),
    );
    const found = await collection.listIndexes().toArray();
    indexes[name] = found
      .filter((index) => index['name'] !== '_id_')
      .map(({ key, name: named, unique, sparse, expireAfterSeconds }) => ({
        key,
        name: named,
        unique,
        sparse,
        expireAfterSeconds,
      }));
  }
  await writeJson(files.indexes, indexes);
}

export async function dumpStreams(natsUrl: string): Promise<void> {
  await mkdir(files.nats, { recursive: true });
  await using nats = await openNats(natsUrl);
  const { manager } = nats;
  const streams: StoredStream[] = [];
  const found = await Array.fromAsync(manager.streams.list());
  for (const info of found.toSorted(byName)) {
    const { config, state } = info;
    streams.push({ config: { ...config, metadata: {} }, lastSequence: state.last_seq });
    const messages = await Array.fromAsync(messagesOf(manager, info));
    await writeLines(
      join(files.nats, `${config.name}.jsonl`),
      messages.map((message) => JSON.stringify(message)),
    );
  }
  await writeJson(files.streams, streams);
}

const byName = (one: StreamInfo, other: StreamInfo): number => (one.config.name < other.config.name ? -1 : 1);

async function* messagesOf(
  manager: JetStreamManager,
  { config, state }: StreamInfo,
): AsyncGenerator<StoredMessage> {
  for (let seq = Math.max(state.first_seq, 1); seq <= state.last_seq; seq += 1) {
    const message = await manager.streams.getMessage(config.name, { seq });
    // Some were removed.
    if (message === null) continue;
    const body = new TextDecoder('utf-8', { fatal: true }).decode(message.data);
    const headers = Object.fromEntries(message.header.keys().map((name) => [name, message.header.get(name)]));
    yield { sequence: seq, subject: message.subject, headers, body };
  }
}
