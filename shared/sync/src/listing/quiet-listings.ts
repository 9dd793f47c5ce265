// A listing into which no push writes saves a round trip. A page is normally read after the watermark, which says until when
// all records can be seen. If two pages in a row had the same watermark, the next page is read in parallel with the watermark:
//
//   the last two watermarks            the page
//   ─────────────────────────────────  ────────────────────────────────────────────────────────────────────────
//   differ, or a push was open in one  is read after the watermark
//   are the same                       is read in parallel, and once more if the watermark has changed
//
// A watermark stays true for all later reads. Each push changes the watermark before it writes, so an unchanged
// watermark includes each push that was answered before the page was asked for.
import { LRUCache } from 'lru-cache';
import { isNoneOpen, type Watermark, type Watermarks } from '../watermarks.ts';

/** Reads a page with the watermark of its listing, as of some moment after the call. */
type ReadWithWatermark = <Page>(
  key: string,
  pageOf: (watermark: Watermark) => Promise<Page>,
) => Promise<Page>;

interface Remembered {
  watermark: Watermark;
  /** Whether the previous read found the same watermark. */
  isQuiet: boolean;
}

/** Beyond this number, the least recently read watermarks are forgotten. */
const rememberedMax = 10_000;

export function openQuietListings({ read }: Pick<Watermarks, 'read'>): ReadWithWatermark {
  const remembered = new LRUCache<string, Remembered>({ max: rememberedMax });

  const readNow = async (key: string): Promise<Watermark> => {
    const watermark = await read(key);
    const before = remembered.get(key);
    const isQuiet = before !== undefined && isUnchanged(before.watermark, watermark);
    remembered.set(key, { watermark, isQuiet });
    return watermark;
  };

  return async (key, pageOf) => {
    const last = remembered.get(key);
    if (last?.isQuiet !== true) return pageOf(await readNow(key));
    const [watermark, page] = await Promise.all([readNow(key), pageOf(last.watermark)]);
    return isUnchanged(last.watermark, watermark) ? page : pageOf(watermark);
  };
}

const isUnchanged = (before: Watermark, now: Watermark): boolean =>
  before.stamp === now.stamp && before.total === now.total && isNoneOpen(before) && isNoneOpen(now);
