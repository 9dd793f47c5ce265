// Fills an integration with very many records, runs and webhooks. The services make one push and the webhooks. All
// other runs and records are copies of the documents of that push, which are written to MongoDB directly.
import { openStore } from '@integration-sync/runtime/store';
import { openLog } from '@integration-sync/runtime/log';
import type { Stack } from '@integration-sync/dev/stack';
import { internalIdOf, newSyncId, orderOf } from '../../shared/sync/src/ids.ts';
import type { Entry } from '../../shared/sync/src/journal/journal-entry.ts';
import type { RecordDocument } from '../../shared/sync/src/records/record-document.ts';
import type { Watermark } from '../../shared/sync/src/watermarks.ts';
import { eventually } from './eventually.ts';
import type { Client } from './stack.ts';

export interface Crowd {
  records: number;
  runs: number;
  webhooks: number;
}

const lanes = 8;
const batch = 5_000;
/** A little less than the 7 days for which the history of pushes is kept. */
const historyMs = 6 * 86_400_000;
/** One run in 50 has a failed item. */
const failingEvery = 50;

export async function fill(stack: Stack, client: Client, { records, runs, webhooks }: Crowd): Promise<void> {
  const { integration } = client;
  await using store = await openStore({
    url: stack.mongodb,
    database: stack.database,
    log: openLog({ service: 'test', level: 'silent' }),
  });
  const suppliers = store.collection<RecordDocument>('suppliers');
  const entries = store.collection<Entry>('catalog_journal');

  const pushed = await client.post('/suppliers', {
    suppliers: [
      { externalId: 'first', name: 'Nordic Timber AB', country: 'SE' },
      { externalId: 'wrong', name: 'Baltic Oak OÜ', country: 'Estonia' },
    ],
  });
  const template = await eventually(
    () => entries.findOne({ _id: String(pushed.headers.get('x-sync-id')) }),
    (entry) => entry?.state === 'announced',
  );
  const first = await suppliers.findOne({ integration, externalId: 'first' });
  if (template === null || first === null) throw new Error('the push left no journal entry or no record');

  const began = Date.now() - historyMs;
  const ofRun = Math.ceil(records / runs);
  const atOf = (run: number): Date => new Date(began + Math.floor((run * historyMs) / runs));
  const ids = Array.from({ length: runs }, (_, run) => newSyncId(atOf(run)));
  await inBatches(runs, async (from, to) => {
    const made = Array.from({ length: to - from }, (_, index): Entry => {
      const at = atOf(from + index);
      const isFailing = (from + index) % failingEvery === 0;
      return {
        ...template,
        _id: ids[from + index] ?? '',
        created: ofRun,
        failed: isFailing ? 1 : 0,
        errors: isFailing ? (template.errors ?? []) : [],
        startedAt: at,
        completedAt: new Date(at.getTime() + 40),
      };
    });
    await entries.insertMany(made, { ordered: false });
  });
  await inBatches(records, async (from, to) => {
    const made = Array.from({ length: to - from }, (_, index): RecordDocument => {
      const place = from + index;
      const run = Math.floor(place / ofRun);
      const push = ids[run] ?? '';
      const externalId = `S-${place}`;
      return {
        ...first,
        _id: internalIdOf('sup', integration, externalId),
        externalId,
        order: orderOf(push, place % ofRun),
        push,
        lastSyncedAt: atOf(run),
        changedAt: atOf(run),
      };
    });
    await suppliers.insertMany(made, { ordered: false });
  });
  await store
    .collection<Watermark>('catalog_heads')
    .updateOne({ _id: `${integration}/suppliers` }, { $inc: { total: records } });

  for (let from = 0; from < webhooks; from += lanes) {
    const count = Math.min(lanes, webhooks - from);
    await Promise.all(
      Array.from({ length: count }, async (_, index) => {
        const { status } = await client.post('/webhook-events', {
          url: `http://127.0.0.1:9/hooks/${from + index}`,
          events: ['webhook.disabled'],
        });
        if (status !== 201) throw new Error(`a registration is answered ${status}`);
      }),
    );
  }
}

/** Calls `write` with the first index of each batch and the index after its last, for two batches at a time. */
async function inBatches(count: number, write: (from: number, to: number) => Promise<void>): Promise<void> {
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < count) {
      const from = next;
      next += batch;
      await write(from, Math.min(count, from + batch));
    }
  };
  await Promise.all([lane(), lane()]);
}
