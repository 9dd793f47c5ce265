// The mark up to which prune may look: where the key could not read when the load began, a resumed load takes none, as its mark
// would be later than rows that were loaded before the interruption.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { run } from '../../../loader/src/run.ts';
import { useFolder } from '../../support/use-folder.ts';
import { listen } from '../../support/servers.ts';

const folder = useFolder();
const answer = (response: ServerResponse, status: number, body: object, headers = {}): void =>
  void response
    .writeHead(status, { 'content-type': 'application/json', ...headers })
    .end(JSON.stringify(body));

it('a resumed load saves no start time for prune if the service first tells the time after the push of the first rows', async () => {
  let mayRead = false;
  let pushes = 0;
  let interrupt = new AbortController();
  let abort = new AbortController();
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await text(request);
    if (request.method === 'GET' && !mayRead) {
      const scope = 'Bearer error="insufficient_scope", scope="integration:suppliers:read"';
      return answer(response, 403, { code: 'insufficient_scope' }, { 'www-authenticate': scope });
    }
    if (request.method === 'GET')
      return answer(response, 200, { entities: [], total: 0 }, { 'x-next-since': new Date().toISOString() });
    pushes += 1;
    if (pushes === 2) {
      interrupt.abort(new Error('interrupted'));
      return abort.abort(new Error('interrupted twice'));
    }
    const { suppliers }: { suppliers: { externalId: string }[] } = JSON.parse(body);
    answer(response, 200, {
      success: true,
      created: suppliers.length,
      updated: 0,
      unchanged: 0,
      errors: [],
      records: suppliers.map(({ externalId }) => ({ externalId, internalId: 'i', status: 'CREATED' })),
      details: suppliers.map((_, index) => ({
        index,
        action: 'created',
        changedFields: [],
        problems: [],
        ignored: [],
      })),
    });
  };
  await using server = await listen(createServer((request, response) => void handle(request, response)));
  const file = join(folder.path, 'suppliers.csv');
  const rows = Array.from({ length: 700 }, (_, n) => `S${n},Name ${n}\n`);
  await writeFile(file, `externalId,name\n${rows.join('')}`);
  const load = (...args: string[]): Promise<number> =>
    run(['load', ...args, '--state', join(folder.path, 'state')], {
      environment: { INTEGRATION_SYNC_URL: server.url, INTEGRATION_SYNC_KEY: 'a-key' },
      streams: { out: async () => undefined, err: () => undefined, isTerminal: false },
      input: Readable.from([]),
      interrupt: interrupt.signal,
      abort: abort.signal,
    });
  expect(await load(file, '--lanes', '1')).not.toBe(0);
  mayRead = true;
  [interrupt, abort] = [new AbortController(), new AbortController()];
  expect(await load('--resume')).toBe(0);
  const history = JSON.parse(await readFile(join(folder.path, 'state/history.json'), 'utf8'));
  expect(history.suppliers.mark).toBeUndefined();
  expect(pushes).toBeGreaterThan(2);
});
