// Pushes that opened a listing and died before they had an entry in the journal. They have written nothing, but while one
// stands open, the listing says of everything since then that more may come. The sweeper closes them.
import type { Engine } from '../engine.ts';
import type { Watermark } from '../watermarks.ts';

type Needed = Pick<Engine, 'now' | 'journal' | 'watermarks'>;

/** Longer than any push may take from its beginning to its first write. */
const forgottenMs = 30_000;

export async function closeForgotten(engine: Needed): Promise<void> {
  for (const watermark of await engine.watermarks.withOpen()) await closeIn(engine, watermark);
}

async function closeIn(engine: Needed, { _id: key, open }: Pick<Watermark, '_id' | 'open'>): Promise<void> {
  const oldestMs = engine.now() - forgottenMs;
  const old = Object.entries(open).filter(([, openedAt]) => openedAt < oldestMs);
  if (old.length === 0) return;
  const pending = await engine.journal.pendingAmong(old.map(([syncId]) => syncId));
  for (const [syncId, openedAt] of old) {
    if (pending.has(syncId) || !(await isOver(engine, syncId))) continue;
    await engine.watermarks.forget(key, syncId, openedAt);
  }
}

/** Not by the clocks, which may differ: no entry can come any more, or the one that came is done with. */
async function isOver({ now, journal }: Needed, syncId: string): Promise<boolean> {
  if (await journal.bury(syncId, new Date(now()))) return true;
  const pending = await journal.pendingAmong([syncId]);
  return !pending.has(syncId);
}
