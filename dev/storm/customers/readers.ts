// Customers that read: the feed, page by page with odd limits and filters; and a mirror, which follows `changedSince`.
import type { EventPage, Listing, ListingEntity, RecordDetails } from '@integration-sync/contracts';
import { sightingsOf } from '../caller.ts';
import type { LedgerFile } from '../ledger.ts';
import type { PageLine, Plural, Sighting } from '../lines.ts';
import type { Customer } from './customer.ts';

export interface FeedPage {
  ids: readonly string[];
  next: string;
  more: boolean;
}

const limits = [1, 2, 3, 7, 13, 33, 100] as const;
const pauseMs = [200, 1_200] as const;
const pollEveryMs = [300, 1_500] as const;
const triesMax = 20;

/** Reads the feed, from `since` or else from now on, until the storm is over and the feed has no more events. */
export async function readFeed(customer: Customer, kinds: readonly string[], since?: string): Promise<void> {
  const filter = kinds.length === 0 ? '' : `&events=${kinds.join(',')}`;
  let begin = since === undefined ? '' : `&since=${since}`;
  for (let isRead = false; !isRead || !customer.stopped.aborted;) {
    const limit = since === undefined ? customer.random.pick(limits) : 500;
    const path = `/events?limit=${limit}${filter}${begin}`;
    const page = await customer.insist({ path }, ({ events, next, more }: EventPage): FeedPage => {
      return { ids: events.map(({ id }) => id), next, more };
    });
    begin = `&after=${page.next}`;
    isRead = !page.more;
    if (isRead) await customer.pause(pauseMs);
  }
}

/** What a mirror keeps of a record: its version is the sync id of its last change. */
export type Mirrored = readonly [internalId: string, version: string, changedAt: string];

type Details = Listing<ListingEntity & { details: RecordDetails }>;

/** The last poll begins after the storm. */
export async function mirror(customer: Customer, plural: Plural, begunAt: string): Promise<void> {
  let since = begunAt;
  for (let isLast = false; !isLast;) {
    isLast = customer.stopped.aborted;
    const limit = customer.random.pick([7, 33, 100]);
    let path: string | undefined = `/${plural}?changedSince=${since}&details=true&limit=${limit}`;
    for (let isFirst = true; path !== undefined; isFirst = false) {
      const page: { records: Mirrored[]; next: string | undefined; nextSince: string } =
        await customer.insist({ path }, ({ entities }: Details, next, nextSince) => ({
          records: entities.map(({ internalId, details: { changedBy, changedAt } }): Mirrored => {
            return [internalId, changedBy, changedAt];
          }),
          next,
          nextSince,
        }));
      if (isFirst) since = page.nextSince;
      path = page.next;
    }
    await customer.pause(pauseMs);
  }
}

const keepPage = ({ entities }: Listing<ListingEntity>, next: string | undefined, nextSince: string) => {
  const seen: Sighting[] = sightingsOf(entities);
  return { entities: seen, next, nextSince };
};

/**
 * Polls a listing by the last X-Next-Since, and now and then looks at a page from its beginning. After a failed page the next poll begins
 * at the same `since`. The last poll begins after the storm, and shows every record that no earlier poll has shown.
 */
export async function poll(customer: Customer, plural: Plural, pages: LedgerFile<PageLine>): Promise<void> {
  const { by: reader, integration, random, stopped } = customer;
  const readPage = async (path: string, nth: number | null) => {
    const { begunMs, endedMs, answer } = await customer.ask({ path }, keepPage);
    if (answer === undefined) return undefined;
    const { entities, next } = answer;
    const isLast = next === undefined;
    pages.write({ reader, poll: nth, integration, plural, begunMs, endedMs, isLast, entities });
    return answer;
  };
  const all = `/${plural}?limit=100`;
  let since = '';
  for (let [nth, tries, isLast] = [1, 0, false]; !isLast; nth += 1) {
    const isOver = stopped.aborted;
    const first = await readPage(`${all}${since}`, nth);
    let page = first;
    while (page?.next !== undefined) page = await readPage(page.next, nth);
    if (page !== undefined) since = `&since=${first?.nextSince}`;
    isLast = isOver && page !== undefined;
    if (isOver && !isLast && (tries += 1) === triesMax)
      throw new Error(`requests of ${reader} fail though the storm is over`);
    if (!isOver && random.chance(0.5)) await readPage(all, null);
    await customer.pause(pollEveryMs);
  }
}
