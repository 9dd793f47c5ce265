import { expect, it } from 'vitest';
import { pollFeed, type FeedPoll } from '../../../client/src/feed.ts';

/** What is asked of a feed of three pages, of which the last one has no more behind it. */
async function asked(how: FeedPoll, atMost: number): Promise<{ paths: string[]; next: unknown[] }> {
  const paths: string[] = [];
  const next: unknown[] = [];
  const send = async ({ path }: { path: string }) => {
    paths.push(path);
    const text = JSON.stringify({ events: [], next: `n${paths.length}`, more: paths.length < 3 });
    return { status: 200, headers: new Headers(), text };
  };
  for await (const page of pollFeed(send, how)) {
    next.push(page.next);
    if (next.length === atMost) break;
  }
  return { paths, next };
}

it('begins at a time, goes on behind each page, and ends with what is there', async () => {
  expect(
    await asked({ since: '2026-03-31', events: ['dds.created', 'sync.completed'], limit: 2 }, 9),
  ).toEqual({
    paths: [
      'events?since=2026-03-31&events=dds.created%2Csync.completed&limit=2',
      'events?after=n1&events=dds.created%2Csync.completed&limit=2',
      'events?after=n2&events=dds.created%2Csync.completed&limit=2',
    ],
    next: ['n1', 'n2', 'n3'],
  });
});

it('ends with what is there where it is to wait 0 s, and does not ask without pause', async () => {
  const { paths } = await asked({ after: 'n0', waitSeconds: 0 }, 9);
  expect(paths).toEqual(['events?after=n0&wait=0', 'events?after=n1&wait=0', 'events?after=n2&wait=0']);
});

it('goes on for ever where it waits', async () => {
  const { paths } = await asked({ after: 'n0', waitSeconds: 25 }, 5);
  expect(paths).toHaveLength(5);
  expect(paths[4]).toBe('events?after=n4&wait=25');
});
