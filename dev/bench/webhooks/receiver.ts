// The receiver of every contender, a process of its own: it remembers the webhook-id of each delivery and answers 204,
// below /lag after 50 ms. GET /seen returns the counts and, below /watched, the time from announcement to arrival of each
// delivery; DELETE forgets them.
import { createServer } from 'node:http';
import { listenOnLoopback } from '../../process/port.ts';
import { uptimeMs } from '../measure.ts';

interface Tally {
  hits: number;
  ids: Set<string>;
  /** Milliseconds from the event's announcement to its arrival. */
  lagsMs: number[];
}

const tallies = new Map<string, Tally>();

function tallyOf(path: string): Tally {
  const tally = tallies.get(path) ?? { hits: 0, ids: new Set<string>(), lagsMs: [] };
  tallies.set(path, tally);
  return tally;
}

const server = createServer((request, response) => {
  const path = request.url ?? '';
  if (request.method !== 'POST') {
    const seen = [...tallies].map(([at, { hits, ids, lagsMs }]) => ({
      path: at,
      hits,
      distinct: ids.size,
      lagsMs,
    }));
    response.end(JSON.stringify(seen));
    if (request.method === 'DELETE') tallies.clear();
    return;
  }
  const arrivedAtMs = uptimeMs();
  const isWatched = path.startsWith('/watched');
  let body = '';
  request.on('data', (chunk) => (body += isWatched ? chunk : ''));
  request.on('end', () => {
    const tally = tallyOf(path);
    tally.hits += 1;
    tally.ids.add(String(request.headers['webhook-id']));
    if (isWatched) tally.lagsMs.push(arrivedAtMs - Number(JSON.parse(body).data.announcedAtMs));
    if (path.startsWith('/lag')) setTimeout(() => response.writeHead(204).end(), 50);
    else response.writeHead(204).end();
  });
});
server.keepAliveTimeout = 60_000;
process.send?.(await listenOnLoopback(server));
process.on('disconnect', () => process.exit());
