// A data set that a release has left behind: what MongoDB and NATS contained when its processes were killed,
// and what its callers and receivers knew by then. `make-data.ts` makes it, `restore.ts` puts it into fresh
// engines.
//
//   data/<release>/known.json              what callers and receivers knew
//   data/<release>/mongodb/<name>.jsonl    a collection: its documents as EJSON, a line each
//   data/<release>/mongodb-indexes.json    the indexes of all collections
//   data/<release>/nats/<NAME>.jsonl       a stream: its messages, a line each
//   data/<release>/nats-streams.json       the configuration of each stream, and its last sequence
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DdsEntry, ListingEntity, SyncRun } from '@integration-sync/contracts';
import type { StreamConfig } from '@nats-io/jetstream';
import type { AnswerBody, LoggedAttempt } from '../support/webhooks.ts';
import type { Plural } from '../support/sync.ts';

const data = join(import.meta.dirname, 'data');
const manifest = join(import.meta.dirname, '../../package.json');

/** Of this checkout. */
export const { version }: { version: string } = JSON.parse(readFileSync(manifest, 'utf8'));

export const filesOf = (release: string) => {
  const folder = join(data, release);
  return {
    folder,
    known: join(folder, 'known.json'),
    indexes: join(folder, 'mongodb-indexes.json'),
    streams: join(folder, 'nats-streams.json'),
    mongodb: join(folder, 'mongodb'),
    nats: join(folder, 'nats'),
  };
};

/** The release on whose data, and beside whose services, this checkout is tested. */
export const former = { release: '1.1.0', commit: 'f7c7cfd5f6e4d4ee79837473006257c39b97c0b4' };

export type Item = Readonly<Record<string, unknown>> & { externalId: string };

export interface KnownWebhook {
  integration: string;
  id: string;
  /** Of its url; all receivers listen on one port. */
  path: string;
  secret: string;
  /** Signs as well. */
  previousSecret?: string;
  /** As the service showed it last. */
  shown?: Pick<AnswerBody, 'events' | 'active' | 'disabledAt' | 'disabledReason' | 'consecutiveFailures'>;
  /** Of those that have failed. */
  attempts: LoggedAttempt[];
  /** Ids of events that its receiver answered with 2xx. */
  delivered: string[];
}

export interface Listings {
  suppliers: ListingEntity[];
  products: ListingEntity[];
  batches: ListingEntity[];
  dds: DdsEntry[];
  runs: SyncRun[];
}

/** A walk through a listing that its caller has not ended. */
export interface OpenWalk {
  plural: Plural;
  /** The query of its next page. */
  next: string;
  /** What is still to come, in order. */
  rest: string[];
}

export interface CutPush {
  integration: string;
  plural: Plural;
  /** At which its process was killed. */
  stage: string;
  items: Item[];
  autoCreateDDS: boolean;
  /** What other pushes have sent since. */
  since: Item[][];
}

export interface Known {
  madeAt: string;
  /** The setting WEBHOOK_SECRET_KEY. */
  secretKey: string;
  /** Of each integration, all that it has pushed and was answered, in order. */
  pushed: Record<string, { plural: Plural; items: Item[]; autoCreateDDS: boolean }[]>;
  /** Of the integrations of which no push was cut off. */
  listings: Record<string, Listings>;
  walks: OpenWalk[];
  webhooks: Record<string, KnownWebhook>;
  cut: CutPush[];
}

export interface StoredMessage {
  sequence: number;
  subject: string;
  headers: Record<string, string>;
  body: string;
}

export interface StoredStream {
  config: StreamConfig;
  lastSequence: number;
}
