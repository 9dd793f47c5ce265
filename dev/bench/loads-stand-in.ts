// A stand-in for the whole service, as a process of its own: answers each push immediately, with all items as created. An argument
// says how many milliseconds away it is.
import { createServer } from 'node:http';
import { listenOnLoopback } from '../process/port.ts';
import { openProxy } from '../process/proxy.ts';

const marker = '"externalId"';
const answers = new Map<number, string>();

function answerTo(items: number): string {
  let answer = answers.get(items);
  if (answer === undefined) {
    const ids = Array.from({ length: items }, (_, index) => String(index).padStart(8, '0'));
    answer = JSON.stringify({
      success: true,
      created: items,
      updated: 0,
      unchanged: 0,
      errors: [],
      records: ids.map((id) => ({
        externalId: `B-${id}`,
        internalId: `bat_${id.repeat(3)}`,
        status: 'CREATED',
      })),
      details: ids.map((_id, index) => ({
        index,
        action: 'created',
        changedFields: [],
        problems: [],
        ignored: [],
      })),
    });
    answers.set(items, answer);
  }
  return answer;
}

function itemsIn(body: Buffer): number {
  let items = 0;
  for (let at = body.indexOf(marker); at >= 0; at = body.indexOf(marker, at + 1)) items += 1;
  return items;
}

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    response.setHeader('content-type', 'application/json');
    response.end(request.method === 'GET' ? '{"entities":[]}' : answerTo(itemsIn(Buffer.concat(chunks))));
  });
});
process.on('disconnect', () => process.exit());
const url = `http://127.0.0.1:${await listenOnLoopback(server)}`;
const [distanceMs] = process.argv.slice(2);
process.send?.(
  distanceMs === undefined ? url : (await openProxy([url], { roundTripMs: Number(distanceMs) })).url,
);
