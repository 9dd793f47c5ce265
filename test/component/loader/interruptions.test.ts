import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmod,
  mkdir,
  readdir,
  readFile,
  realpath,
  stat,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { json as readJson, text as readText } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { run } from '../../../loader/src/run.ts';
import { readOpenFiles } from '../../support/open-files.ts';
import { listen } from '../../support/servers.ts';
import { useFolder } from '../../support/use-folder.ts';

// What a command leaves if the service or a file changes while it is under way.

const folder = useFolder();

const runAt = (url: string, ...args: string[]) => runWith({}, url, ...args);

interface Surroundings {
  /** What standard input has. */
  input?: readonly Buffer[];
  /** Its abort is the first Ctrl-C. */
  interrupt?: AbortController;
}

async function runWith(
  { input = [], interrupt = new AbortController() }: Surroundings,
  url: string,
  ...args: string[]
) {
  let err = '';
  const code = await run([...args, '--url', url], {
    environment: { INTEGRATION_SYNC_KEY: 'isk_key' },
    streams: { out: () => undefined, err: (text) => void (err += text), isTerminal: false },
    input: Readable.from(input),
    interrupt: interrupt.signal,
    abort: new AbortController().signal,
  });
  return { code, err };
}

type Respond = (asked: IncomingMessage, answer: ServerResponse) => void | Promise<void>;
const serve = (respond: Respond) => listen(createServer((asked, answer) => void respond(asked, answer)));

const page = (externalId: string): string =>
  JSON.stringify({
    entities: [{ externalId, syncStatus: 'SYNCED', details: { fields: { name: 'One' } } }],
    total: 2,
  });

it('a failed export leaves the file of the previous export, and a successful export replaces this file', async () => {
  let isWhole = false;
  await using service = await serve(({ url = '' }, answer) => {
    if (url.includes('cursor')) answer.writeHead(isWhole ? 200 : 400).end(page('S-2'));
    else answer.setHeader('link', `<${url}&cursor=c>; rel="next"`).end(page('S-1'));
  });
  const kept = join(folder.path, 'kept.ndjson');
  const named = join(folder.path, 'suppliers.ndjson');
  await writeFile(kept, 'of yesterday\n');
  await chmod(kept, 0o640);
  await symlink('kept.ndjson', named);
  const exported = () => runAt(service.url, 'export', 'suppliers', '--out', folder.path);
  expect(await exported()).toMatchObject({ code: 3, err: expect.stringContaining('was answered 400') });
  expect(await readFile(named, 'utf8')).toBe('of yesterday\n');
  isWhole = true;
  // Two exports at the same time write no common part.
  const whole = { code: 0, err: '' };
  expect(await Promise.all([exported(), exported()])).toEqual([whole, whole]);
  expect(await readFile(kept, 'utf8')).toBe(
    '{"externalId":"S-1","name":"One"}\n{"externalId":"S-2","name":"One"}\n',
  );
  expect((await stat(kept)).mode & 0o777).toBe(0o640);
  expect((await readdir(folder.path)).toSorted()).toEqual(['kept.ndjson', 'suppliers.ndjson']);
});

it('export --follow goes on from a file of its own integration, and refuses that of another', async () => {
  const interrupt = new AbortController();
  const asked: string[] = [];
  await using service = await serve(({ url = '' }, answer) => {
    asked.push(url);
    answer
      .setHeader('x-next-since', '2026-03-31T00:00:00.000Z')
      .end(url === '/token' ? '{"integrationId":"acme"}' : '{"entities":[],"total":0}');
    if (asked.length === 4) interrupt.abort();
  });
  const from = join(folder.path, 'from.json');
  const follow = ['export', 'suppliers', '--follow', '--every', '1', '--from', from];
  expect((await runWith({ interrupt }, service.url, ...follow)).code).toBe(130);
  expect(asked.at(-1)).toContain('changedSince=2026-03-31');
  await writeFile(from, (await readFile(from, 'utf8')).replace('acme', 'other'));
  expect(await runAt(service.url, ...follow)).toEqual({
    code: 3,
    err: `${from} has the offset for other at ${service.url}, but the key is for acme at ${service.url}: name another file.\n`,
  });
});

it('export --follow and prune name an expired key, and not another integration', async () => {
  await using service = await serve((_asked, answer) => void answer.writeHead(401).end());
  const target = { url: service.url, integration: 'acme' };
  const state = join(folder.path, 'state');
  await mkdir(state);
  await writeFile(join(state, 'from.json'), JSON.stringify({ target }));
  const loaded = { ...target, mark: '2026-03-31T00:00:00.000Z', finishedAt: '2026-03-31T00:00:00.000Z' };
  await writeFile(join(state, 'history.json'), JSON.stringify({ suppliers: loaded }));
  for (const command of [
    ['export', 'suppliers', '--follow', '--from', join(state, 'from.json')],
    ['prune', '--state', state],
  ])
    expect(await runAt(service.url, ...command)).toEqual({
      code: 3,
      err: '401: the service does not take the key. Is it whole, of this service, and not expired?\n',
    });
});

it('a load stops when the modification time of its file changes, and --resume continues it', async () => {
  const path = join(folder.path, 'suppliers.csv');
  const lines = Array.from({ length: 30_000 }, (_, at) => `S-${at};Name ${at}`.padEnd(80));
  await writeFile(path, `externalId;name\n${lines.join('\n')}\n`);
  let isTouched = false;
  const stored = new Set<string>();
  await using service = await serve(async (asked, answer) => {
    if (asked.method === 'GET') {
      answer.end('{"entities":[],"total":0}');
      return;
    }
    const { suppliers } = (await readJson(asked)) as { suppliers: { externalId: string }[] };
    if (!isTouched) await utimes(path, new Date(), new Date(Date.now() + 5_000));
    isTouched = true;
    for (const { externalId } of suppliers) stored.add(externalId);
    const records = suppliers.map(({ externalId }) => ({ externalId, internalId: '', status: 'CREATED' }));
    const details = suppliers.map((_item, index) => ({ index, action: 'created', problems: [] }));
    answer.end(JSON.stringify({ records, details }));
  });
  const state = ['--state', join(folder.path, 'state')];
  const { code, err } = await runAt(service.url, 'load', path, ...state);
  expect([code, err]).toEqual([
    1,
    expect.stringMatching(
      /was written to since the load began.*\nRows before this are stored: load --resume goes on\.\n$/,
    ),
  ]);
  expect((await runAt(service.url, 'load', '--resume', ...state)).code).toBe(0);
  expect(stored.size).toBe(30_000);
});

it('a load at an address that redirects names the target, and does not repeat its request', async () => {
  let asked = 0;
  await using service = await serve((_asked, answer) => {
    asked += 1;
    answer.writeHead(308, { location: 'https://sync.example.com/' }).end();
  });
  const path = join(folder.path, 'suppliers.csv');
  await writeFile(path, 'externalId;name\nS-1;One\n');
  const { code, err } = await runAt(service.url, 'load', path, '--state', join(folder.path, 'state'));
  expect([code, err]).toEqual([
    3,
    expect.stringContaining('was answered 308: a redirect to https://sync.example.com/'),
  ]);
  expect(asked).toBe(1);
});

it('a load that loses its service half-way says that --resume continues the load', async () => {
  const path = join(folder.path, 'suppliers.csv');
  await writeFile(path, `externalId;name\n${'S-1;One\n'.repeat(1_000)}`);
  let pushes = 0;
  await using service = await serve(async (asked, answer) => {
    if (asked.method === 'GET') answer.end('{"entities":[],"total":0}');
    else if ((pushes += 1) > 1) answer.writeHead(503).end('{"detail":"It is away."}');
    else {
      const { suppliers } = (await readJson(asked)) as { suppliers: object[] };
      const details = suppliers.map((_item, index) => ({ index, action: 'created', problems: [] }));
      answer.end(JSON.stringify({ records: [], details }));
    }
  });
  const state = ['--state', join(folder.path, 'state')];
  expect(await runAt(service.url, 'load', path, '--patience', '2', ...state)).toEqual({
    code: 1,
    err: expect.stringMatching(
      /was answered 503: It is away\.\nRows before this are stored: load --resume goes on\.\n$/,
    ),
  });
});

it.each(['load', 'plan'])(
  'one Ctrl-C ends a %s that waits for a service which answers 503',
  async (command) => {
    const interrupt = new AbortController();
    await using service = await serve((_asked, answer) => {
      answer.writeHead(503).end();
      interrupt.abort(new Error('interrupted'));
    });
    const path = join(folder.path, 'suppliers.csv');
    await writeFile(path, 'externalId;name\nS-1;One\n');
    const { code, err } = await runWith({ interrupt }, service.url, command, path, '--state', folder.path);
    expect([code, err]).toEqual([130, expect.stringMatching(/\nInterrupted\.\n$/)]);
  },
);

it.each([['load', '-', '--kind', 'suppliers'], ['singer']])(
  'one Ctrl-C ends a %s that waits for more of its standard input',
  async (...command) => {
    const child = spawn(process.execPath, ['loader/src/main.ts', ...command, '--url', 'http://127.0.0.1:1'], {
      env: { ...process.env, INTEGRATION_SYNC_KEY: 'isk_key' },
      stdio: ['pipe', 'ignore', 'pipe'],
    });
    const ended = Promise.all([once(child, 'exit'), readText(child.stderr)]);
    // Longer than the buffer of a pipe: once it is written, the command has read a part.
    await new Promise((written) => child.stdin.write('\n'.repeat(900_000), written));
    child.kill('SIGINT');
    expect(await ended).toEqual([[130, null], expect.stringContaining('Interrupted.')]);
  },
);

it('after Ctrl-C a load repeats no push, and says that --resume goes on', async () => {
  const interrupt = new AbortController();
  let pushes = 0;
  await using service = await serve(async (asked, answer) => {
    if (asked.method === 'GET') answer.end('{"entities":[],"total":0}');
    else if ((pushes += 1) > 1) {
      answer.writeHead(503).end();
      interrupt.abort(new Error('interrupted'));
    } else {
      const { suppliers } = (await readJson(asked)) as { suppliers: object[] };
      const details = suppliers.map((_item, index) => ({ index, action: 'created', problems: [] }));
      answer.end(JSON.stringify({ records: [], details }));
    }
  });
  const path = join(folder.path, 'suppliers.csv');
  await writeFile(path, `externalId;name\n${'S-1;One\n'.repeat(1_000)}`);
  const { code, err } = await runWith({ interrupt }, service.url, 'load', path, '--state', folder.path);
  expect([code, err]).toEqual([
    130,
    expect.stringMatching(/\nInterrupted\.\nRows before this are stored: load --resume goes on\.\n$/),
  ]);
  expect(pushes).toBe(2);
});

it('a load resumes with the options of the interrupted load, and refuses others', async () => {
  const path = join(folder.path, 'suppliers.csv');
  await writeFile(path, `externalId;name;country\n${'S-1;One;DE\n'.repeat(1_000)}`);
  const write = async (name: string, country: string | null): Promise<string> => {
    const map = join(folder.path, name);
    const columns = { externalId: 'externalId', name: 'name', country };
    await writeFile(map, JSON.stringify({ '*.csv': { columns } }));
    return map;
  };
  const map = await write('map.json', null);
  const otherMap = await write('other-map.json', 'code');
  let pushes = 0;
  let isAway = true;
  await using service = await serve(async (asked, answer) => {
    if (asked.method === 'GET') answer.end('{"entities":[],"total":0}');
    else if ((pushes += 1) > 1 && isAway) answer.writeHead(503).end();
    else {
      const { suppliers } = (await readJson(asked)) as { suppliers: object[] };
      const details = suppliers.map((_item, index) => ({ index, action: 'created', problems: [] }));
      answer.end(JSON.stringify({ records: [], details }));
    }
  });
  const load = (...args: string[]) =>
    runAt(service.url, 'load', path, '--patience', '1', '--state', join(folder.path, 'state'), ...args);
  const own = ['--encoding', 'cp850', '--map', map];
  expect((await load(...own)).code).toBe(1);
  isAway = false;
  const before = pushes;
  for (const [other, ...options] of [
    ['encoding', '--encoding', 'windows-1252'],
    ['columns', '--map', otherMap],
    ['kind', '--kind', 'products'],
    ['--results', '--results', 'results.csv'],
    ['--auto-create-dds', '--auto-create-dds'],
  ] as const)
    expect(await load('--resume', ...options)).toEqual({
      code: 3,
      err: `The load that was interrupted had another ${other}, with which --resume goes on: leave yours out, or load anew, without --resume.\n`,
    });
  expect(pushes).toBe(before);
  expect((await load('--resume', ...own)).code).toBe(0);
});

it('a resumed load of rejected and other rows restores leading zeros, as the interrupted load did', async () => {
  const pushed: unknown[] = [];
  let mode: 'reject' | 'away' | 'accept' = 'reject';
  await using service = await serve(async (asked, answer) => {
    if (asked.method === 'GET') answer.end('{"entities":[],"total":0}');
    else if (mode === 'away') answer.writeHead(503).end();
    else {
      const { suppliers } = (await readJson(asked)) as { suppliers: { externalId: string }[] };
      pushed.push(...suppliers.map(({ externalId }) => externalId));
      const action = mode === 'reject' ? 'failed' : 'created';
      const problems =
        mode === 'reject' ? [{ pointer: '/suppliers/0/name', code: 'wrong_value', detail: 'no' }] : [];
      answer.end(JSON.stringify({ records: [], details: [{ index: 0, action, problems }] }));
    }
  });
  const write = async (name: string, id: string): Promise<string> => {
    await writeFile(join(folder.path, name), `externalId;name\n${id};One\n`);
    return join(folder.path, name);
  };
  const options = ['--patience', '1', '--state', join(folder.path, 'state'), '--rejects', folder.path];
  const load = (...args: string[]) => runAt(service.url, 'load', ...options, ...args);
  await load(await write('suppliers.csv', '007'));
  // A spreadsheet has saved the rejected rows.
  const rejected = await write('suppliers-2.csv', '7');
  mode = 'away';
  expect((await load(rejected, await write('suppliers-b.csv', 'B'))).code).toBe(1);
  mode = 'accept';
  expect((await load('--resume')).code).toBe(0);
  expect(pushed).toEqual(['007', '007', 'B']);
});

it('the rejected rows of an interrupted load get their leading zeros back', async () => {
  const pushed: string[] = [];
  let isAway = true;
  await using service = await serve(async (asked, answer) => {
    const { suppliers } = asked.method === 'GET' ? {} : ((await readJson(asked)) as { suppliers: object[] });
    if (suppliers === undefined) answer.end('{"entities":[],"total":0}');
    else if (isAway && pushed.length > 0) answer.writeHead(503).end();
    else {
      pushed.push(...suppliers.map((one) => JSON.stringify(one)));
      const problems = isAway ? [{ pointer: '/suppliers/0/name', code: 'wrong_value', detail: 'no' }] : [];
      const details = suppliers.map((_one, index) => ({
        index,
        action: isAway && index === 0 ? 'failed' : 'created',
        problems,
      }));
      answer.end(JSON.stringify({ records: [], details }));
    }
  });
  const options = ['--patience', '1', '--state', join(folder.path, 'state'), '--rejects', folder.path];
  const load = (...args: string[]) => runAt(service.url, 'load', ...options, ...args);
  const path = join(folder.path, 'suppliers.csv');
  const more = Array.from({ length: 600 }, (_one, index) => `S-${index};One\n`);
  await writeFile(path, `externalId;name\n007;\n${more.join('')}`);
  expect((await load(path)).code).toBe(1);
  // A spreadsheet has saved the rejected rows, which the user has repaired.
  const rejected = join(folder.path, 'suppliers-2.csv');
  await writeFile(rejected, 'externalId;name\n7;Seven\n');
  isAway = false;
  expect((await load(rejected)).code).toBe(0);
  expect(pushed.at(-1)).toBe('{"externalId":"007","name":"Seven"}');
  // Nothing resumes the interrupted load any more, so prune must not ask for that alone.
  expect(await runAt(service.url, 'prune', '--state', join(folder.path, 'state'))).toEqual({
    code: 3,
    err: 'The last load of suppliers has not finished: go on with load --resume, or load its files anew.\n',
  });
});

it('a Singer target closes the file of rejected records', async () => {
  await using service = await serve((_asked, answer) => {
    const problems = [
      { pointer: '/suppliers/0/name', code: 'required', detail: 'Supplier name is required' },
    ];
    answer.end(JSON.stringify({ records: [], details: [{ index: 0, action: 'failed', problems }] }));
  });
  const settings = join(folder.path, 'settings.json');
  await writeFile(settings, JSON.stringify({ rejects: folder.path }));
  const schema = { properties: { externalId: {}, name: {} } };
  const messages = [
    { type: 'SCHEMA', stream: 'suppliers', schema },
    { type: 'RECORD', stream: 'suppliers', record: { externalId: 'S-1' } },
  ];
  const input = messages.map((message) => Buffer.from(`${JSON.stringify(message)}\n`));
  expect((await runWith({ input }, service.url, 'singer', '--config', settings)).code).toBe(2);
  const rejects = await realpath(join(folder.path, 'suppliers-suppliers.ndjson'));
  expect(await readOpenFiles()).not.toContain(rejects);
});

it('a Singer target stops at a byte that is not UTF-8, instead of storing a replacement character', async () => {
  let pushes = 0;
  await using service = await serve((_asked, answer) => {
    pushes += 1;
    answer.writeHead(500).end();
  });
  const messages =
    '{"type":"SCHEMA","stream":"suppliers","schema":{"properties":{"externalId":{},"name":{}}}}\n' +
    '{"type":"RECORD","stream":"suppliers","record":{"externalId":"S-1","name":"Müller"}}\n';
  expect(await runWith({ input: [Buffer.from(messages, 'latin1')] }, service.url, 'singer')).toEqual({
    code: 3,
    err: '0 records accepted, 0 rejected\nStandard input is no UTF-8, as messages of Singer have to be.\n',
  });
  expect(pushes).toBe(0);
});

it('a load with a wrong --lanes leaves the history of the previous load', async () => {
  await using service = await serve((_asked, answer) => {
    const details = [{ index: 0, action: 'created', problems: [] }];
    answer.end(JSON.stringify({ entities: [], total: 0, records: [], details }));
  });
  const path = join(folder.path, 'suppliers.csv');
  await writeFile(path, 'externalId;name\nS-1;One\n');
  const load = (...args: string[]) => runAt(service.url, 'load', path, '--state', folder.path, ...args);
  expect((await load()).code).toBe(0);
  const history = await readFile(join(folder.path, 'history.json'), 'utf8');
  expect(await load('--lanes', '65')).toMatchObject({ code: 3, err: expect.stringContaining('--lanes') });
  expect(await readFile(join(folder.path, 'history.json'), 'utf8')).toBe(history);
});
