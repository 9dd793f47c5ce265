import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, open, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join, resolve } from 'node:path';
import { text as readText } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { makeWorkbook, zip, type ZipForm } from '../../support/workbooks.ts';
import iconv from 'iconv-lite';
import { expect, it, onTestFinished, vi } from 'vitest';
import { run } from '../../../loader/src/run.ts';
import { advisedInPage, openInPage } from '../../support/both-platforms.ts';
import { useFolder } from '../../support/use-folder.ts';
import { listen } from '../../support/servers.ts';

// Files that cannot be loaded as they are. All of them are looked at before the service is asked for anything: here there is none.

const folder = useFolder();

interface Said {
  code: number;
  err: string;
  out: string;
}

async function load(args: string[], input: Buffer[] = []): Promise<Said> {
  let err = '';
  let out = '';
  const code = await run(args, {
    environment: {
      // Nothing listens there.
      INTEGRATION_SYNC_URL: 'http://127.0.0.1:1',
      INTEGRATION_SYNC_KEY: 'isk_key',
    },
    streams: { out: (text) => void (out += text), err: (text) => void (err += text), isTerminal: false },
    input: (async function* () {
      yield* input;
    })(),
    interrupt: new AbortController().signal,
    abort: new AbortController().signal,
  });
  return { code, err, out };
}

async function loadFile(name: string, content: string | Buffer, ...options: string[]): Promise<Said> {
  const path = join(folder.path, name);
  await writeFile(path, content);
  return load(['load', path, '--state', join(folder.path, 'state'), '--patience', '1', ...options]);
}

const good = 'externalId;name\nS-1;One\n';

it('a load ends with exit code 1 where the service does not answer', async () => {
  const said = await loadFile('suppliers.csv', good);
  expect(said).toMatchObject({ code: 1, err: expect.stringContaining('http://127.0.0.1:1 does not answer') });
  expect(said.err).toContain('suppliers.csv: suppliers, 1 row; utf-8; ";" between columns');
  const resumed = await loadFile('suppliers.csv', good, '--resume');
  expect(resumed).toMatchObject({ code: 3, err: expect.stringMatching(/no load to resume.*: load anew/) });
});

const sheetPart = 'xl/worksheets/sheet1.xml';
const workbook = (sheet: string | Buffer, how?: ZipForm) => (): Buffer =>
  makeWorkbook({ Tabelle1: [] }, { [sheetPart]: sheet }, how);
const rowsOf = (xml: string): string => `<worksheet><sheetData>${xml}</sheetData></worksheet>`;

const cases: [
  what: string,
  name: string,
  content: () => string | Buffer,
  expected: string | RegExp,
  options?: string[],
][] = [
  [
    'a needed column that is missing',
    'suppliers.csv',
    () => 'externalId;nmae\nS-1;One\n',
    'no column is "name", which suppliers need. The nearest are "nmae"',
  ],
  [
    'a needed column that is there twice',
    'suppliers.csv',
    () => 'externalId;name;Name\nS-1;One;One\n',
    'the columns "name" and "Name" are both "name"',
  ],
  [
    'an unclosed quote',
    'suppliers.csv',
    () => `${good}S-2;"Two\nS-3;Three\n`,
    'suppliers.csv, line 3: a quote is opened here and not closed',
  ],
  [
    'a broken byte in UTF-8',
    'suppliers.csv',
    () =>
      Buffer.concat([Buffer.from(`${good}S-2;Größe Ä Ö\nS-3;`), Buffer.from([0xe4]), Buffer.from(' ß ü\n')]),
    /line 4: byte 0xe4 is no UTF-8, as the rest of the file is/,
  ],
  [
    'a broken byte in what says to be UTF-8',
    'suppliers.csv',
    () => Buffer.concat([Buffer.from(`\ufeff${good}S-2;M`), Buffer.from([0xfc]), Buffer.from('ller\n')]),
    /line 3: byte 0xfc is no UTF-8/,
  ],
  [
    'bytes of DOS',
    'suppliers.csv',
    () => iconv.encode('externalId;name\nS-1;Müller\n', 'cp850'),
    'line 2: byte 0x81 is neither UTF-8 nor windows-1252: say --encoding, such as cp850 or cp437 of DOS.',
  ],
  [
    'an encoding that there is not',
    'suppliers.csv',
    () => good,
    '"utf-9" is no encoding',
    ['--encoding', 'utf-9'],
  ],
  [
    '20 MB in one line',
    'suppliers.csv.gz',
    () => gzipSync(Buffer.concat([Buffer.from(good), Buffer.alloc(20 * 1024 * 1024, 'x')])),
    'line 3: it is longer than 1 MiB',
  ],
  ['an empty file', 'suppliers.csv', () => '', 'suppliers.csv is empty'],
  [
    'a gzip file that is cut off',
    'suppliers.csv.gz',
    () => gzipSync(Buffer.from(good.repeat(1_000))).subarray(0, 60),
    'is no whole gzip file',
  ],
  [
    'a name that says no kind',
    'vendors.csv',
    () => good,
    'begins with none of suppliers, products, batches. Say --kind, or name it in a map.',
  ],
  ['a name that says no format', 'suppliers.pdf', () => good, 'its name says no format'],
  ['JSON that is none', 'suppliers.json', () => '[{]', 'is no JSON'],
  [
    'NDJSON in a file of JSON',
    'suppliers.json',
    () => '{"externalId":"S-1","name":"One"}\n{"externalId":"S-2","name":"Two"}\n',
    'suppliers.json has one JSON object a line: name it .ndjson.',
  ],
  [
    'JSON in a file of NDJSON',
    'suppliers.ndjson',
    () => '\ufeff\n[\n  {"externalId":"S-1","name":"One"}\n]\n',
    'suppliers.ndjson is one JSON array: name it .json.',
  ],
  [
    'JSON without an array',
    'suppliers.json',
    () => '{"products":[]}',
    'is neither an array nor {"suppliers": […]}',
  ],
  ['a text that is no workbook', 'suppliers.xlsx', () => good, 'is no Excel workbook'],
  [
    'a zip that unpacks to gigabytes',
    'suppliers.xlsx',
    workbook('', { saidBytes: 4_000_000_000 }),
    'unpacks to more than 512 MiB (',
  ],
  [
    'a zip that unpacks to more than it says',
    'suppliers.xlsx',
    workbook(' '.repeat(20_000_000), { saidBytes: 1_000 }),
    'has another size or checksum than noted',
  ],
  [
    'a sheet of more than 250,000 rows',
    'suppliers.xlsx',
    workbook(rowsOf('<row><c><v>1</v></c></row>'.repeat(250_001))),
    'suppliers.xlsx, sheet "Tabelle1": more than 250,000 rows. Save it as CSV',
  ],
  [
    'texts of more than 128 MiB',
    'suppliers.xlsx',
    () =>
      makeWorkbook(
        { Tabelle1: [] },
        { 'xl/sharedStrings.xml': `<sst>${`<si><t>${'x'.repeat(32_767)}</t></si>`.repeat(4_097)}</sst>` },
      ),
    'has more than 128 MiB of texts: save the sheet as CSV',
  ],
  [
    'a text without an end',
    'suppliers.xlsx',
    workbook(Buffer.concat([Buffer.from('<worksheet>'), Buffer.alloc(2_000_000, 'x')])),
    'sheet1.xml: a text of more than 1 MiB',
  ],
  [
    'a tag without an end',
    'suppliers.xlsx',
    workbook(`<worksheet><c ${'a'.repeat(9_000)}`),
    'sheet1.xml: an XML tag of more than 8 KiB',
  ],
  [
    'a tag that is too long',
    'suppliers.xlsx',
    workbook(rowsOf(`<row><c r="A1" ${'a'.repeat(80_000)}/></row>`)),
    'sheet1.xml: an XML tag of more than 8 KiB',
  ],
  [
    'a cell that is longer than Excel has them',
    'suppliers.xlsx',
    workbook(rowsOf(`<row><c t="str"><v>${'x'.repeat(32_768)}</v></c></row>`)),
    'sheet1.xml: a cell of more than 32,767 characters, which Excel does not take',
  ],
  [
    'a cell of 60 MB in pieces',
    'suppliers.xlsx',
    workbook(rowsOf(`<row><c t="str"><v>${`${'x'.repeat(60_000)}<b/>`.repeat(1_000)}</v></c></row>`)),
    'sheet1.xml: a cell of more than 32,767 characters, which Excel does not take',
  ],
  [
    'a shared text that is longer than Excel has them',
    'suppliers.xlsx',
    () =>
      makeWorkbook(
        { Tabelle1: [] },
        { 'xl/sharedStrings.xml': `<sst><si><t>${'x'.repeat(32_768)}</t></si></sst>` },
      ),
    'sharedStrings.xml: a cell of more than 32,767 characters, which Excel does not take',
  ],
  [
    'a workbook with a password',
    'suppliers.xlsx',
    () => Buffer.concat([Buffer.from('d0cf11e0a1b11ae1', 'hex'), Buffer.alloc(5_000)]),
    'has a password, or is a workbook of Excel 97 (.xls): save it as .xlsx without a password',
  ],
  ['an encrypted zip', 'suppliers.xlsx', workbook(rowsOf(''), { isEncrypted: true }), 'has a password'],
  [
    'a workbook that is cut off',
    'suppliers.xlsx',
    () => workbook(rowsOf(''))().subarray(0, -200),
    'suppliers.xlsx is no Excel workbook',
  ],
  [
    'a workbook whose directory is beyond any file',
    'suppliers.xlsx',
    () => {
      const bytes = workbook(rowsOf(''), { is64: true })();
      const locator = bytes.indexOf('PK\u0006\u0007');
      return bytes.fill(0xff, locator + 8, locator + 16);
    },
    'suppliers.xlsx is broken (unexpected end)',
  ],
  [
    'a workbook with another byte',
    'suppliers.xlsx',
    workbook(rowsOf(''), { isStored: true, crc: 1 }),
    'has another size or checksum than noted',
  ],
  ['a sheet that ends within', 'suppliers.xlsx', workbook('<worksheet><sheetData>'), 'unexpected end'],
  [
    'a sheet that is no UTF-8',
    'suppliers.xlsx',
    workbook(Buffer.from(rowsOf('<row><c t="str"><v>\xe4</v></c></row>'), 'latin1')),
    'suppliers.xlsx is broken (xl/worksheets/sheet1.xml: ',
  ],
  [
    'a text that is not among the shared ones',
    'suppliers.xlsx',
    workbook(rowsOf('<row r="7"><c t="s"><v>3</v></c></row>')),
    'row 7: the value 3 cannot be read',
  ],
  [
    'a text below the first thousand rows that is not among the shared ones',
    'suppliers.xlsx',
    workbook(
      rowsOf(
        `${'<row><c t="str"><v>x</v></c></row>'.repeat(1_100)}<row r="1200"><c t="s"><v>3</v></c></row>`,
      ),
    ),
    'row 1200: the value 3 cannot be read',
  ],
  ['a column that Excel has not', 'suppliers.xlsx', workbook(rowsOf('<row><c r="XFE1"/></row>')), 'XFE1'],
  [
    'a zip that is no workbook',
    'suppliers.xlsx',
    () => zip({ 'readme.txt': 'Hello' }),
    'suppliers.xlsx has no sheets: is it an Excel workbook?',
  ],
  ['an empty sheet', 'suppliers.xlsx', workbook(rowsOf('<row r="9"/>')), 'sheet "Tabelle1" is empty'],
  ['a map that names no field', 'suppliers.csv', () => good, 'The map', ['--map', 'does-not-exist.json']],
  [
    'an option that there is not',
    'suppliers.csv',
    () => good,
    /^Unknown option '--fast'\.\n\nUsage/,
    ['--fast'],
  ],
];

it.each(cases)(
  '%s stops a load before anything is sent',
  async (_what, name, content, expected, options = []) => {
    const said = await loadFile(name, content(), ...options);
    expect(said.err).toMatch(expected);
    expect(said.code).toBe(3);
  },
);

it.each(cases.filter(([, , , , options]) => options === undefined))(
  'the loader in a page refuses %s in the words of the command line loader, but advises controls of the page',
  async (_what, name, content, expected) => {
    const path = join(folder.path, name);
    await writeFile(path, content());
    const said = await openInPage(path).then(String, String);
    expect(said).toMatch(typeof expected === 'string' ? advisedInPage(expected) : expected);
    expect(said).not.toMatch(/(?:^|\s)--\w/);
  },
);

it('a load accepts mixed line ends, and reports them', async () => {
  const said = await loadFile('suppliers.csv', 'externalId;name\r\nS-1;One\nS-2;Two\r');
  expect(said.err).toContain('suppliers, 2 rows');
  expect(said.err).toContain('line ends of two sorts, both taken');
});

it('a directory or a missing file stops a load', async () => {
  await mkdir(join(folder.path, 'suppliers.csv'));
  const directory = await load(['load', join(folder.path, 'suppliers.csv')]);
  expect(directory).toMatchObject({
    code: 3,
    err: expect.stringContaining('is a directory: name the files in it'),
  });
  expect(await load(['load', 'nothing.csv'])).toMatchObject({
    code: 3,
    err: 'There is no file nothing.csv.\n',
  });
});

it('JSON on standard input stops a load', async () => {
  const said = await load(
    ['load', '-', '--kind', 'suppliers', '--patience', '1'],
    [Buffer.from('{"externalId":"S-1","name":"One"}\n')],
  );
  expect(said).toMatchObject({ code: 3, err: expect.stringContaining('Standard input is JSON') });
});

it('the loader does not read a header in brackets on standard input as JSON', async () => {
  const said = await load(
    ['load', '-', '--kind', 'suppliers', '--patience', '1'],
    [Buffer.from('[number],[label]\nS-1,One\n')],
  );
  expect(said).toMatchObject({ code: 3, err: expect.stringContaining('no column is "externalId"') });
});

it('an unclosed quote in standard input stops a load', async () => {
  const said = await load(
    ['load', '-', '--kind', 'suppliers', '--patience', '1'],
    [Buffer.from('externalId;name\n"S-1;One\n')],
  );
  expect(said).toMatchObject({ code: 3, err: expect.stringContaining('standard input, line 2') });
});

const without = async (environment: Record<string, string>, ...args: string[]): Promise<Said> => {
  let err = '';
  const path = join(folder.path, 'suppliers.csv');
  await writeFile(path, good);
  const code = await run(args.length === 0 ? ['load', path] : args, {
    environment,
    streams: { out: () => undefined, err: (text) => void (err += text), isTerminal: false },
    input: (async function* () {})(),
    interrupt: new AbortController().signal,
    abort: new AbortController().signal,
  });
  return { code, err, out: '' };
};

it('the command line loader explains a missing key, address, command or file', async () => {
  expect(await without({})).toMatchObject({ code: 3, err: expect.stringContaining('INTEGRATION_SYNC_URL') });
  const url = { INTEGRATION_SYNC_URL: 'http://127.0.0.1:1' };
  expect(await without(url)).toMatchObject({
    code: 3,
    err: expect.stringContaining('set INTEGRATION_SYNC_KEY'),
  });
  expect(await without(url, 'lod')).toMatchObject({
    code: 3,
    err: expect.stringMatching(/^There is no command "lod"\.\n\nUsage: integration-sync COMMAND/),
  });
  expect(await without(url, 'load')).toMatchObject({ code: 3, err: expect.stringContaining('Which files?') });
  expect(await without({ INTEGRATION_SYNC_URL: 'localhost:8080' })).toMatchObject({
    code: 3,
    err: '"localhost:8080" is no URL such as https://sync.example.com\n',
  });
  for (const key of ['isk_a\nb', 'isk_a’'])
    expect(await without({ ...url, INTEGRATION_SYNC_KEY: key })).toEqual({
      code: 3,
      err: 'The key has characters that no key has: copy the whole key once more.\n',
      out: '',
    });
});

it('a Singer target refuses settings by which ACTIVATE_VERSION could archive any number of records', async () => {
  const config = join(folder.path, 'config.json');
  const url = { INTEGRATION_SYNC_URL: 'http://127.0.0.1:1', INTEGRATION_SYNC_KEY: 'isk_key' };
  for (const most of ['"10 %"', '"ten"', '101', '-1', '{}']) {
    await writeFile(config, `{"prune_most":${most}}`);
    expect(await without(url, 'singer', '--config', config)).toMatchObject({
      code: 3,
      err: `The settings ${config}: prune_most is a number from 0 to 100, and not ${most}.\n`,
    });
  }
  await writeFile(config, 'null');
  expect(await without(url, 'singer', '--config', config)).toMatchObject({
    code: 3,
    err: `The settings ${config} cannot be read: the file has no JSON object\n`,
  });
  for (const most of ['"25"', '0', 'null']) {
    await writeFile(config, `{"prune_most":${most}}`);
    expect(await without(url, 'singer', '--config', config)).toMatchObject({ code: 0 });
  }
});

it('a load does not count its waits for a rate limit toward --patience', async () => {
  let asked = 0;
  const service = createServer(({ method }, answer) => {
    asked += 1;
    const status = method === 'POST' ? 403 : asked % 2 === 1 ? 429 : 200;
    answer.writeHead(status, { 'retry-after': '2' }).end('{"entities":[],"total":0}');
  });
  await using listening = await listen(service);
  const { url } = listening;
  const products = join(folder.path, 'products.csv');
  await writeFile(products, good);
  // The service says twice to wait for 2 s.
  const said = await loadFile('suppliers.csv', good, products, '--url', url, '--patience', '3');
  expect(said).toMatchObject({ code: 3, err: expect.stringContaining('403: the key lacks the scope') });
});

it('a load waits longer than 15 s for a service that answers 503 at first', async () => {
  const { setTimeout: begin, clearTimeout: clear } = globalThis;
  const begun: NodeJS.Timeout[] = [];
  let end: (() => void) | undefined;
  vi.stubGlobal('setTimeout', (work: () => void, ms?: number, ...rest: []) => {
    const timer = begin(work, ms, ...rest);
    if (ms !== 15_000) return timer;
    begun.push(timer);
    end = work;
    return timer;
  });
  vi.stubGlobal('clearTimeout', (timer: NodeJS.Timeout) => {
    if (begun.includes(timer)) end = undefined;
    clear(timer);
  });
  onTestFinished(() => void vi.unstubAllGlobals());
  let asked = 0;
  await using listening = await listen(
    createServer((_asked, answer) => {
      asked += 1;
      // The 15 s end between both requests.
      if (asked === 2) end?.();
      answer.writeHead(asked === 1 ? 503 : 401).end();
    }),
  );
  const said = await loadFile('suppliers.csv', good, '--url', listening.url, '--patience', '30');
  expect(said).toMatchObject({ code: 3, err: expect.stringContaining('401') });
  expect([begun.length, asked]).toEqual([1, 2]);
});

const main = resolve(import.meta.dirname, '../../../loader/src/main.ts');

it('a load ends with exit code 1 where the disk is full', async () => {
  await using full = await open('/dev/full', 'w');
  const child = spawn(process.execPath, [main, '--help'], { stdio: ['ignore', full.fd, 'pipe'] });
  if (child.stderr === null) throw new Error('the command has no standard error');
  const [err, [code]] = await Promise.all([readText(child.stderr), once(child, 'close')]);
  expect([code, err]).toEqual([1, 'The output cannot be written: ENOSPC: no space left on device, write\n']);
});

it.each([['stdout'], ['stderr']] as const)(
  'a load ends with its usual exit code although its %s is closed',
  async (closed) => {
    const path = join(folder.path, 'suppliers.csv');
    await writeFile(path, `${good}S-2;Two;Three\n`);
    await using listening = await listen(
      createServer(
        (_asked, answer) => void answer.end('{"entities":[],"total":0,"details":[],"records":[]}'),
      ),
    );
    const args = ['plan', path, '--state', join(folder.path, 'state'), '--url', listening.url];
    const child = spawn(process.execPath, [main, ...args], { env: { INTEGRATION_SYNC_KEY: 'isk_key' } });
    child[closed].destroy();
    const [[code], out, err] = await Promise.all([
      once(child, 'close'),
      closed === 'stdout' ? '' : readText(child.stdout),
      closed === 'stderr' ? '' : readText(child.stderr),
    ]);
    expect([code, out + err]).toEqual([
      2,
      expect.stringContaining(closed === 'stdout' ? '2 rows' : '2 rejected'),
    ]);
  },
);

it('a load does not write its results over a file that it is to load', async () => {
  const path = join(folder.path, 'suppliers.csv');
  expect(await loadFile('suppliers.csv', good, '--results', path)).toMatchObject({
    code: 3,
    err: expect.stringContaining(`--results names ${path}, which is to be loaded: name another file.`),
  });
  expect(await readFile(path, 'utf8')).toBe(good);
});

it('a load with a broken file of state names this file', async () => {
  const state = join(folder.path, 'state');
  await mkdir(state);
  await writeFile(join(state, 'history.json'), '{');
  expect(await loadFile('suppliers.csv', good)).toMatchObject({
    code: 3,
    err: expect.stringContaining('history.json is broken'),
  });
});

it('a resumed load names a missing file', async () => {
  const state = join(folder.path, 'state');
  const gone = join(folder.path, 'suppliers.csv');
  await mkdir(state);
  const left = {
    url: 'http://127.0.0.1:1',
    phase: 'loading',
    files: [{ path: gone, kind: 'suppliers', hash: '' }],
  };
  await writeFile(join(state, 'load.json'), JSON.stringify(left));
  expect(await load(['load', '--resume', '--state', state])).toMatchObject({
    code: 3,
    err: expect.stringContaining(gone),
  });
});

it('load --sample suggests a map from the columns of an unknown header to fields', async () => {
  const said = await loadFile(
    'suppliers.csv',
    Buffer.from('Lieferantenliste;;;\r\nExtern_ID;Name 1;Länd;E-Mail\r\n1;Müller;DE;\r\n', 'latin1'),
    '--sample',
  );
  expect(said.err).toContain('suggested, check it: "Extern_ID" is externalId, "Name 1" is name');
  expect(said.err).toContain('  externalId: its number in your system (needed)\n');
  expect(JSON.parse(said.out)).toEqual({
    'suppliers.csv': {
      kind: 'suppliers',
      columns: { Extern_ID: 'externalId', 'Name 1': 'name', Länd: null, 'E-Mail': 'email' },
      constants: {},
      emptyClears: false,
    },
  });
});
