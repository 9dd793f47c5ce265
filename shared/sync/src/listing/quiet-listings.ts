// Pages of listings that no push changes at the moment. A page is read after the watermark, which says of what is past that all of it
// can be seen. Where two pages in a row had the same watermark, the next one is read with that, and beside the question whether
// it still holds, so that it comes after one answer of the database and not after two:
//
//   the last two watermarks            the page
//   ─────────────────────────────────  ────────────────────────────────────────────────────────────────────────
//   differ, or a push was open in one  is read after the watermark
//   are the same                       is read beside the watermark, and once more after it where that has changed
//
// What a watermark says of the past holds for all that is read later. Each push changes it before it writes, so one that is
// unchanged has missed no push that was answered before the page was asked for.
import { LRUCache } from 'lru-cache';
import type { Watermark, Watermarks } from '../watermarks.ts';

/** Reads a page with the watermark of its listing, as that is at some moment after this call. */
export type ReadWithWatermark = <Page>(
  key: string,
  pageOf: (watermark: Watermark) => Promise<Page>,
) => Promise<Page>;

interface Remembered {
  watermark: Watermark;
  /** The one before it was the same. */
  isQuiet: boolean;
}

/** Those that were not read for longest are forgotten. */
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

const isNoneOpen = ({ open }: Watermark): boolean => Object.keys(open).length === 0;
