// When a page is read beside its watermark, and when it is read again.
import { expect, it } from 'vitest';
import { openQuietListings } from '../../../shared/sync/src/listing/quiet-listings.ts';
import type { Watermark } from '../../../shared/sync/src/watermarks.ts';

const initial: Watermark = { _id: 'acme/suppliers', total: 3, stamp: 100, open: {} };

function openListing() {
  let stored = initial;
  const steps: string[] = [];
  const readWithWatermark = openQuietListings({
    async read() {
      steps.push('ask');
      await new Promise((resolve) => setTimeout(resolve, 5));
      steps.push('watermark');
      return stored;
    },
  });
  return {
    store: (changes: Partial<Watermark>) => (stored = { ...stored, ...changes }),
    /** The steps of one page, which is named by the watermark that it was read with. */
    async list() {
      steps.length = 0;
      const page = await readWithWatermark(initial._id, async ({ stamp, total }) => {
        steps.push('page');
        await new Promise((resolve) => setTimeout(resolve, 5));
        return `${stamp} ${total}`;
      });
      return { page, steps: steps.join(', ') };
    },
  };
}

const after = 'ask, watermark, page';
const beside = 'ask, page, watermark';

it('a listing reads the watermark and then the page, and both concurrently once two watermarks were equal', async () => {
  const listing = openListing();
  expect(await listing.list()).toEqual({ page: '100 3', steps: after });
  expect(await listing.list()).toEqual({ page: '100 3', steps: after });
  expect(await listing.list()).toEqual({ page: '100 3', steps: beside });
  expect(await listing.list()).toEqual({ page: '100 3', steps: beside });
});

it.each([
  ['a push of new records was opened and closed', { stamp: 101, total: 4 }],
  ['a push of known records was opened and closed', { stamp: 101 }],
  ['a push is open that has the stamp of the one before', { open: { sync_1: 100 } }],
  ['a push was opened', { stamp: 101, open: { sync_1: 101 } }],
  ['recovery has counted records', { total: 4 }],
])('a page that was read concurrently with the watermark is read again where %s', async (_what, changes) => {
  const listing = openListing();
  for (let page = 0; page < 3; page += 1) await listing.list();
  const { stamp, total } = listing.store(changes);
  expect(await listing.list()).toEqual({ page: `${stamp} ${total}`, steps: `${beside}, page` });
  expect((await listing.list()).steps).toBe(after);
});

it('while a push is open, pages are read after the watermark', async () => {
  const listing = openListing();
  listing.store({ open: { sync_1: 100 } });
  for (let page = 0; page < 4; page += 1) expect((await listing.list()).steps).toBe(after);
});
