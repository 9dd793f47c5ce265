// On request, reads without pause for a given time: the feed from its oldest to its newest event over and over, or the
// first page of a listing. It is a process of its own, so that it does not slow the process that announces events.
import { base } from './caller.ts';

const [gateway = '', token = ''] = process.argv.slice(2);

export interface Reading {
  what: 'feed' | 'listing';
  ms: number;
}

const get = async (path: string): Promise<string> => {
  const answer = await fetch(`${gateway}${base}${path}`, { headers: { authorization: `Bearer ${token}` } });
  const text = await answer.text();
  if (answer.status !== 200) throw new Error(`GET ${path} was answered ${answer.status} ${text}`);
  return text;
};

const oldest = 'since=2020-01-01';

/** Resolves with the number of pages that it has read. */
async function read({ what, ms }: Reading): Promise<number> {
  const endMs = performance.now() + ms;
  let place = oldest;
  let pages = 0;
  for (; performance.now() < endMs; pages += 1) {
    const text = await get(what === 'feed' ? `/events?limit=500&${place}` : '/suppliers?limit=100');
    if (what === 'listing') continue;
    const { next, more }: { next: string; more: boolean } = JSON.parse(text);
    place = more ? `after=${encodeURIComponent(next)}` : oldest;
  }
  return pages;
}

process.on('message', (asked: Reading) => void read(asked).then((pages) => process.send?.(pages)));
process.send?.('open');
