// On request, reads the feed from its oldest to its newest event over and over, for a given time without pause. It is a
// process of its own, so that it does not slow the process that announces events.
import { askFeed, openClient } from './client.ts';

const [gateway = '', token = ''] = process.argv.slice(2);
const client = openClient(gateway, token);

/** Resolves with the number of pages that it has read. */
async function read(ms: number): Promise<number> {
  const endMs = performance.now() + ms;
  const oldest = { since: '2020-01-01' };
  let from: Record<string, string> = oldest;
  let pages = 0;
  for (; performance.now() < endMs; pages += 1) {
    const { next, more } = await askFeed(client, { limit: '500', ...from });
    from = more ? { after: next } : oldest;
  }
  return pages;
}

process.on('message', ({ ms }: { ms: number }) => void read(ms).then((pages) => process.send?.(pages)));
process.on('disconnect', () => process.exit());
process.send?.('open');
