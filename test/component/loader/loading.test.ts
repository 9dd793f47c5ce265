import { appendFile, mkdir, open, readdir, readFile, rm, rmdir, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { PushOutcome } from '@integration-sync/client';
import { expect, it, vi } from 'vitest';
import { Shown, Wrong } from '../../../loader/src/core/mapping/convert.ts';
import { csvRejects } from '../../../loader/src/core/reading/csv-rejects.ts';
import { ndjsonRejects } from '../../../loader/src/core/reading/json-source.ts';
import type { Row, Source } from '../../../loader/src/core/reading/source.ts';
import { Loading, type LoadingOptions } from '../../../loader/src/core/sending/loading.ts';
import { keepState, readHistory } from '../../../loader/src/disk/history-file.ts';
import { lockFolder } from '../../../loader/src/disk/lock.ts';
import { Outputs } from '../../../loader/src/disk/outputs.ts';
import { noCounts, type LoadState } from '../../../loader/src/core/sending/state.ts';
import { stateFile } from '../../../loader/src/disk/state-file.ts';
import { pause } from '../../support/pause.ts';
import { useFolder } from '../../support/use-folder.ts';

// Loads against a service that is told what to answer: what a real one answers at a moment like these cannot be arranged.

const folder = useFolder();

const row = (number: number, externalId: string, name: string): Row => ({
  number,
  made: { externalId, name },
  raw: JSON.stringify({ externalId, name }),
});

const stateOf = (): LoadState => ({
  version: 1,
  url: 'http://service.test',
  phase: 'loading',
  startedAt: '',
  autoCreateDDS: false,
  rejectsFolder: join(folder.path, 'rejects'),
  files: [
    {
      path: 'products.ndjson',
      kind: 'products',
      format: 'ndjson',
      sheet: undefined,
      rules: {},
      hash: '',
      row: 0,
      reach: 0,
      counts: noCounts(),
      rejects: undefined,
    },
  ],
  results: undefined,
  deferredBytes: 0,
  rejectedIdsBytes: 0,
  marks: {},
});

const sourceOf = (rows: Row[]): Source => ({
  input: { path: 'products.ndjson', kind: 'products', format: 'ndjson', sheet: undefined, rules: {} },
  total: rows.length,
  notes: [],
  isRejects: false,
  rowsBefore: 0,
  make: (raw) => JSON.parse(String(raw)),
  columns: new Map(),
  async *rows() {
    yield rows;
  },
  rejects: ndjsonRejects,
});

type Send = LoadingOptions['send'];

/** Rejects where `lacks` says so, for want of a supplier. */
function answering(sent: string[][], lacks: (name: string, call: number) => boolean): Send {
  return async (_kind, items) => {
    const names = items.map(({ name }) => String(name));
    sent.push(names);
    return {
      details: names.map((name, index) => ({
        index,
        action: lacks(name, sent.length) ? 'failed' : 'created',
        changedFields: [],
        problems: lacks(name, sent.length)
          ? [{ pointer: `/products/${index}`, code: 'reference_not_found', detail: 'no such supplier' }]
          : [],
        ignored: [],
      })),
      records: names.map((name) => ({ externalId: name, internalId: `i-${name}`, status: 'CREATED' })),
    } as unknown as PushOutcome;
  };
}

async function load(rows: Row[] | Source, send: Send): Promise<LoadState> {
  const state = { ...stateOf(), results: { path: join(folder.path, 'results.csv'), bytes: 0 } };
  await using outputs = await Outputs.open(state, join(folder.path, 'state'), false);
  const interrupt = new AbortController().signal;
  await new Loading({
    state,
    sources: [Array.isArray(rows) ? sourceOf(rows) : rows],
    outputs,
    keep: (now) => keepState(join(folder.path, 'state'), now),
    send,
    inFlightMax: 4,
    interrupt,
  }).run();
  return state;
}

/** Ends, as a process that is killed would, before it writes the state of the push that is the last one. */
async function loadUntil(isLast: () => boolean, rows: Row[], send: Send): Promise<LoadState> {
  const stateFolder = join(folder.path, 'state');
  const obstacle = join(stateFolder, `${stateFile}.new`);
  const stopping = load(rows, async (kind, items) => {
    if (isLast()) await mkdir(obstacle, { recursive: true });
    return send(kind, items);
  });
  await expect(stopping).rejects.toMatchObject({ code: 'EISDIR' });
  await rmdir(obstacle);
  return JSON.parse(await readFile(join(stateFolder, stateFile), 'utf8')) as LoadState;
}

async function resume(state: LoadState, rows: Row[], send: Send): Promise<void> {
  const stateFolder = join(folder.path, 'state');
  await using outputs = await Outputs.open(state, stateFolder, true);
  const interrupt = new AbortController().signal;
  const sources = [sourceOf(rows)];
  await new Loading({
    state,
    sources,
    outputs,
    keep: (now) => keepState(stateFolder, now),
    send,
    inFlightMax: 1,
    interrupt,
  }).run();
}

const rejected = async (): Promise<object[]> => {
  const text = await readFile(join(folder.path, 'rejects/products.ndjson'), 'utf8').catch(() => '');
  return text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as object]));
};

it('a load sends rows with a missing reference once more at the end', async () => {
  const sent: string[][] = [];
  const { files, phase } = await load(
    [row(1, 'P-1', 'oak'), row(2, 'P-2', 'pine')],
    answering(sent, (name, call) => name === 'oak' && call < 2),
  );
  expect(sent.at(-1)).toEqual(['oak']);
  expect({ phase, ...files[0]?.counts }).toMatchObject({ phase: 'finished', created: 2, rejected: 0 });
  expect(await rejected()).toEqual([]);
});

it('a row of a workbook whose reference is missing is rejected with the cells that the workbook shows', async () => {
  const raw = [new Shown(7, '0007', '0000'), undefined, new Date('2026-03-31'), true, new Wrong('#N/A'), 1.5];
  const made = { externalId: '0007', name: 'oak' };
  const form = csvRejects(['externalId', 'name', 'day', 'flag', 'error', 'number'], {
    delimiter: ';',
    encoding: 'utf-8',
    hasBom: false,
    quotes: true,
  });
  const source = { ...sourceOf([{ number: 2, made, raw }]), make: () => made, rejects: form };
  const sent: string[][] = [];
  await load(
    source,
    answering(sent, () => true),
  );
  expect(sent).toEqual([['oak'], ['oak']]);
  expect(await readFile(join(folder.path, 'rejects/products.csv'), 'utf8')).toBe(
    'externalId;name;day;flag;error;number;#row;#reason\r\n0007;;2026-03-31;true;;1.5;2;no such supplier\r\n',
  );
});

const rowsFrom = (from: number): Row[] =>
  Array.from({ length: 500 }, (_, at) => row(from + at, `P-${from + at}`, 'oak'));

it('a load saves its state each second, also after the clock of the machine was set back', async () => {
  let saved: LoadState | undefined;
  const source: Source = {
    ...sourceOf([]),
    async *rows() {
      yield rowsFrom(1);
      yield rowsFrom(501);
      using _clock = vi.spyOn(Date, 'now').mockReturnValue(Date.now() - 3_600_000);
      await pause(1_100);
      yield rowsFrom(1_001);
      saved = JSON.parse(await readFile(join(folder.path, 'state', stateFile), 'utf8')) as LoadState;
    },
  };
  await load(
    source,
    answering([], () => false),
  );
  expect(saved?.files[0]?.row).toBeGreaterThanOrEqual(1_000);
});

it('a load rejects rows whose reference is still missing at the end', async () => {
  const sent: string[][] = [];
  const { files } = await load(
    [row(1, 'P-1', 'oak'), row(2, 'P-2', 'pine')],
    answering(sent, (name) => name === 'oak'),
  );
  expect(sent.flat().filter((name) => name === 'oak')).toHaveLength(2);
  expect(files[0]?.counts).toMatchObject({ created: 1, rejected: 1 });
  expect(await rejected()).toMatchObject([{ name: 'oak', '#row': 1, '#reason': 'no such supplier' }]);
});

it('a load does not repeat a row with a missing reference if a later row with the same id was accepted', async () => {
  const sent: string[][] = [];
  const rows = [
    row(1, 'P-1', 'early'),
    ...Array.from({ length: 600 }, (_, index) => row(index + 2, `P-${index + 9}`, 'other')),
    row(700, 'P-1', 'late'),
  ];
  const { files } = await load(
    rows,
    answering(sent, (name) => name === 'early'),
  );
  expect(sent.flat().filter((name) => name === 'early')).toHaveLength(1);
  expect(files[0]?.counts).toMatchObject({ created: 601, rejected: 1 });
  expect(await rejected()).toMatchObject([
    { name: 'early', '#reason': 'no such supplier (row 700 has its id too)' },
  ]);
});

it('a load repeats a row with a missing reference if the later row with the same id was rejected', async () => {
  const sent: string[][] = [];
  const rows = [
    row(1, 'P-1', 'early'),
    ...Array.from({ length: 600 }, (_, index) => row(index + 2, `P-${index + 9}`, 'other')),
    { number: 700, made: new Wrong('the quantity is no number', 'P-1'), raw: '{}' },
  ];
  const { files } = await load(
    rows,
    answering(sent, (name, call) => name === 'early' && call < 2),
  );
  expect(sent.at(-1)).toEqual(['early']);
  expect(files[0]?.counts).toMatchObject({ created: 601, rejected: 1 });
  expect(await rejected()).toMatchObject([{ '#row': 700, '#reason': 'the quantity is no number' }]);
});

it('a resumed load sends rows that the interrupted load deferred for a missing reference', async () => {
  const state = stateOf();
  const kept = join(folder.path, 'state');
  // A line separator is no line end in the log of deferred rows.
  const rows = [row(1, 'P-1', 'o\u2028ak'), row(2, 'P-2', 'pine')];
  const interrupt = new AbortController().signal;
  const common = {
    state,
    sources: [sourceOf(rows)],
    inFlightMax: 1,
    interrupt,
    keep: (now: LoadState) => keepState(kept, now),
  };
  {
    await using outputs = await Outputs.open(state, kept, false);
    const send = answering([], (name, call) => {
      if (call > 1) throw new Error('the process is gone');
      return name === 'o\u2028ak';
    });
    await expect(new Loading({ ...common, outputs, send }).run()).rejects.toThrow('is gone');
  }
  const saved = JSON.parse(await readFile(join(kept, 'load.json'), 'utf8')) as LoadState;
  expect(saved).toMatchObject({ phase: 'retrying', files: [{ row: 2 }] });
  await using outputs = await Outputs.open(saved, kept, true);
  const sent: string[][] = [];
  await new Loading({ ...common, state: saved, outputs, send: answering(sent, () => false) }).run();
  expect(sent).toEqual([['o\u2028ak']]);
  expect(saved.files[0]?.counts).toMatchObject({ created: 2, rejected: 0 });
});

it('a load sends all rows in their order although nearly all have the same id', async () => {
  const sent: string[][] = [];
  const rows = Array.from({ length: 30_000 }, (_, index) =>
    row(index + 1, index === 600 ? 'P-rare' : 'P-same', `n${index}`),
  );
  const { files } = await load(
    rows,
    answering(sent, () => false),
  );
  expect(files[0]?.counts.created).toBe(30_000);
  expect(sent.flat().filter((name) => name !== 'n600')).toEqual(
    rows.flatMap((_row, index) => (index === 600 ? [] : [`n${index}`])),
  );
});

it('a load fills every push but the last with 500 rows, also where the service handles one push at a time', async () => {
  const sent: string[][] = [];
  const answer = answering(sent, () => false);
  const state = stateOf();
  await using outputs = await Outputs.open(state, undefined, false);
  let turn = Promise.resolve();
  await new Loading({
    state,
    sources: [
      {
        ...sourceOf([]),
        async *rows() {
          for (let from = 0; from < 42_000; from += 3_000) {
            yield Array.from({ length: 3_000 }, (_, at) =>
              row(from + at + 1, `P-${Math.imul(from + at, 0x9e3779b1) >>> 0}`, `n${from + at}`),
            );
          }
        },
      },
    ],
    outputs,
    keep: undefined,
    inFlightMax: 8,
    interrupt: new AbortController().signal,
    async send(kind, items) {
      turn = turn.then(() => pause(3));
      await turn;
      return answer(kind, items);
    },
  }).run();
  expect(sent.flat()).toHaveLength(42_000);
  // The last takes the rest.
  expect(sent.slice(0, -1).filter((names) => names.length < 500)).toEqual([]);
});

it('an interrupted load sends no further push, and saves which rows are acknowledged', async () => {
  const state = stateOf();
  const rows = Array.from({ length: 5_000 }, (_, index) => row(index + 1, `P-${index}`, `n${index}`));
  const interrupt = new AbortController();
  const sent: string[][] = [];
  const answer = answering(sent, () => false);
  const folderOfState = join(folder.path, 'state');
  await using outputs = await Outputs.open(state, folderOfState, false);
  const loading = new Loading({
    state,
    sources: [sourceOf(rows)],
    outputs,
    keep: (now) => keepState(folderOfState, now),
    inFlightMax: 1,
    interrupt: interrupt.signal,
    send: async (kind, items) => {
      if (sent.length === 2) interrupt.abort(new Error('enough'));
      return answer(kind, items);
    },
  });
  await expect(loading.run()).rejects.toThrow('enough');
  expect(sent.map((names) => names.length)).toEqual([500, 500, 500]);
  expect(state.files[0]).toMatchObject({ row: 1_500, counts: { created: 1_500 } });
});

it('a load saves no state where the disk is full, so that no unwritten row counts as written', async () => {
  // Linux has a device that is always full.
  const state = { ...stateOf(), results: { path: '/dev/full', bytes: 0 } };
  const stateFolder = join(folder.path, 'state');
  await using outputs = await Outputs.open(state, stateFolder, false);
  const loading = new Loading({
    state,
    sources: [sourceOf([row(1, 'P-1', 'oak')])],
    outputs,
    keep: (now) => keepState(stateFolder, now),
    send: answering([], () => false),
    inFlightMax: 4,
    interrupt: new AbortController().signal,
  });
  await expect(loading.run()).rejects.toMatchObject({ code: 'ENOSPC' });
  await expect(loading.save()).rejects.toMatchObject({ code: 'ENOSPC' });
  await expect(readFile(join(stateFolder, stateFile))).rejects.toMatchObject({ code: 'ENOENT' });
});

it('a command that cannot write its lock, as the disk is full, leaves no lock to the next command', async () => {
  await using file = await open(join(folder.path, 'any'), 'w');
  const full = Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
  using _ = vi.spyOn(Object.getPrototypeOf(file), 'writeFile').mockRejectedValueOnce(full);
  const stateFolder = join(folder.path, 'locked');
  await expect(lockFolder(stateFolder, 'load')).rejects.toBe(full);
  await using _lock = await lockFolder(stateFolder, 'load');
  await expect(lockFolder(stateFolder, 'load')).rejects.toThrow(`Process ${process.pid} works in`);
});

it('a command takes over the lock of a process in another container only after five minutes of silence', async () => {
  const stateFolder = join(folder.path, 'shared');
  await mkdir(stateFolder);
  const lock = join(stateFolder, 'lock-1');
  const holder = { pid: 4_194_305, host: hostname(), namespace: 'pid:[1]', work: 'load', startedAt: 'noon' };
  await writeFile(lock, JSON.stringify(holder));
  await expect(lockFolder(stateFolder, 'load')).rejects.toThrow(
    /Process 4194305 on .* works in .* since noon: load\..* wait for five minutes\.$/,
  );
  const before = new Date(Date.now() - 301_000);
  await utimes(lock, before, before);
  await using _lock = await lockFolder(stateFolder, 'load');
});

it('a load that ends after writing rejects, but before saving its state, writes no second file of rejects', async () => {
  const rows = [row(1, 'P-1', 'oak'), { ...row(2, 'P-2', 'pine'), made: new Wrong('no') }];
  const send = answering([], () => false);
  const left = await loadUntil(() => true, rows, send);
  await resume(left, rows, send);
  const files = await readdir(join(folder.path, 'rejects'));
  const texts = await Promise.all(files.map((name) => readFile(join(folder.path, 'rejects', name), 'utf8')));
  expect(texts.join('').match(/pine/g)).toEqual(['pine']);
});

it('a load writes the header of a file of rejects once, also if it ends early and is resumed', async () => {
  const state = { ...stateOf(), rejectsFolder: join(folder.path, 'rejects') };
  const stateFolder = join(folder.path, 'state');
  const form = { ...ndjsonRejects, head: Buffer.from('head\n') };
  const reject = async (isResumed: boolean): Promise<LoadState> => {
    await using outputs = await Outputs.open(state, stateFolder, isResumed);
    // As a load does before it sends anything.
    await outputs.flush();
    const [file] = state.files;
    if (file !== undefined) outputs.reject(file, form, { row: 1, raw: '{}', id: '' }, 'no');
    await outputs.openRejects();
    return isResumed ? outputs.flush() : state;
  };
  // The first ends before rows are in the file.
  await reject(false);
  const { files } = await reject(true);
  const text = await readFile(files[0]?.rejects?.path ?? '', 'utf8');
  expect(text.split('\n').filter((line) => line === 'head')).toHaveLength(1);
  expect(files[0]?.rejects?.bytes).toBe(text.length);
});

it('a resumed load ignores a row in the file of deferred rows that its saved state does not count, and sends the row again', async () => {
  const rows = Array.from({ length: 600 }, (_, index) => row(index + 1, `P-${index + 1}`, `n${index + 1}`));
  const begun: string[][] = [];
  const lacking = answering(begun, (name) => name === 'n1' || name === 'n550');
  const left = await loadUntil(() => begun.length === 1, rows, lacking);
  expect(left).toMatchObject({ phase: 'loading', files: [{ row: 500 }] });
  expect(left.deferredBytes).toBeGreaterThan(0);
  await appendFile(join(folder.path, 'state/deferred.ndjson'), '{"kind":"prod');
  const sent: string[][] = [];
  await resume(
    left,
    rows,
    answering(sent, () => false),
  );
  expect(sent.flat().toSorted()).toEqual(
    [...rows.slice(500).map(({ number }) => `n${number}`), 'n1'].toSorted(),
  );
  expect(left.files[0]?.counts).toMatchObject({ created: 600, rejected: 0 });
  expect(await rejected()).toEqual([]);
});

it.each([
  ['results.csv', undefined],
  ['rejects/products.ndjson', ''],
  ['state/deferred.ndjson', '{"kind":"prod'],
])(
  'a resumed load sends nothing if %s is gone or shorter than its saved state says',
  async (name, content) => {
    const rows = Array.from({ length: 600 }, (_, index) => row(index + 1, `P-${index + 1}`, `n${index + 1}`));
    rows[1] = { ...row(2, 'P-2', 'n2'), made: new Wrong('no') };
    const begun: string[][] = [];
    const lacking = answering(begun, (text) => text === 'n1');
    const left = await loadUntil(() => begun.length === 1, rows, lacking);
    const path = join(folder.path, name);
    if (content === undefined) await rm(path);
    else await writeFile(path, content);
    const sent: string[][] = [];
    await expect(
      resume(
        left,
        rows,
        answering(sent, () => false),
      ),
    ).rejects.toThrow(`${path} is gone, or shorter`);
    expect(sent).toEqual([]);
  },
);

it('a load that ends before it saves its final state is in the history that prune reads, and can be resumed', async () => {
  const rows = [row(1, 'P-1', 'oak'), row(2, 'P-2', 'pine')];
  const sent: string[][] = [];
  const lacking = answering(sent, (name, call) => name === 'oak' && call === 1);
  // Only the second time, when nothing is left to do but to write.
  const left = await loadUntil(() => sent.length === 1, rows, lacking);
  expect(left.phase).toBe('retrying');
  const history = await readHistory(join(folder.path, 'state'));
  expect(history.products?.finishedAt).toBeDefined();
  await resume(left, rows, lacking);
  expect(left).toMatchObject({ phase: 'finished', files: [{ counts: { created: 2, rejected: 0 } }] });
});
