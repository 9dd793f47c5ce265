// The engines themselves: chosen, durable, kept running, and gone at the end. Each test has its own.
import { execFileSync } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { access, chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { delimiter, join } from 'node:path';
import { startEngine, startEngines } from '@integration-sync/dev/engines';
import { openLog } from '@integration-sync/runtime/log';
import { openStore } from '@integration-sync/runtime/store';
import { describe, expect, inject, it } from 'vitest';
import { identify } from '../../dev/process/identity.ts';
import { awake } from '../support/awake.ts';
import { openTestBus, text } from '../support/bus.ts';
import { eventually } from '../support/eventually.ts';
import { useFolder } from '../support/use-folder.ts';
import { descendantsOf, standStill } from '../support/freeze.ts';
import { listen } from '../support/servers.ts';

const folder = useFolder();

const log = openLog({ service: 'test', level: 'silent' });
const stream = {
  name: 'KEPT',
  description: 'Messages that a killed server must not lose',
  subjects: ['kept.>'],
  retention: 'limits',
  discard: 'new',
} as const;

const isGone = (pid: number): boolean => identify(pid) === undefined;

const jsonOf = async (url: string): Promise<unknown> => JSON.parse(await (await fetch(url)).text());

/** A program of that name that prints that version, alone on PATH with what a shell needs. */
const fakeProgram = async (bin: string, name: string, printed: string): Promise<string> => {
  await mkdir(bin, { recursive: true });
  await writeFile(join(bin, name), `#!/bin/sh\necho '${printed}'\n`);
  await chmod(join(bin, name), 0o755);
  return `${bin}${delimiter}/usr/bin${delimiter}/bin`;
};

describe('the engines MongoDB and NATS', () => {
  it('keep acknowledged writes when they are killed, and come back at the same address', async () => {
    await using engines = await startEngines({ dataFolder: folder.path, temporary: true });
    await using store = await openStore({ url: engines.mongodb.url, database: 'kept', log });
    await using bus = await openTestBus(engines.nats.url);
    await bus.ensureStream(stream);
    const records = store.collection<{ _id: number }>('records');
    await records.insertMany(Array.from({ length: 500 }, (_, _id) => ({ _id })));
    await bus.publishBatch([{ subject: 'kept.one', id: 'one', body: 'whole' }]);
    const before = [...engines.mongodb.pids(), ...engines.nats.pids()];

    await Promise.all([engines.mongodb.kill(), engines.nats.kill()]);

    const count = (): Promise<number> => records.countDocuments().catch(() => -1);
    await eventually(count, (found) => found === 500, 15_000);
    await eventually(() => bus.connected, Boolean);
    const [kept] = await Array.fromAsync(
      bus.readStream('KEPT', { subject: 'kept.one', from: { sequence: 1 } }),
    );
    expect(kept && text(kept.body)).toBe('whole');
    const after = [...engines.mongodb.pids(), ...engines.nats.pids()];
    expect(after).toHaveLength(before.length);
    expect(after.filter((pid) => before.includes(pid))).toStrictEqual([]);
  });

  it('come back though one of their child processes does not end', async () => {
    await using mongodb = await startEngine('mongodb', { dataFolder: folder.path, temporary: true });
    const started = descendantsOf(mongodb.pids());
    await standStill(started);
    mongodb.hold();
    await mongodb.kill();
    await mongodb.resume();
    await using store = await openStore({ url: mongodb.url, database: 'back', log });
    expect(await store.collection('records').countDocuments()).toBe(0);
    await eventually(() => started.every(isGone), Boolean);
  });

  it('keep their data over a restart, unless they are temporary', async () => {
    const dataFolder = join(folder.path, 'data');
    const readBack = async (options: { temporary?: boolean; fresh?: boolean }): Promise<number> => {
      await using nats = await startEngine('nats', { dataFolder, ...options });
      await using bus = await openTestBus(nats.url);
      await bus.ensureStream(stream);
      const [stored] = await bus.publishBatch([{ subject: 'kept.one', id: randomUUID(), body: 'x' }]);
      return stored?.sequence ?? 0;
    };
    expect(await readBack({})).toBe(1);
    expect(await readBack({})).toBe(2);
    expect(await readBack({ fresh: true })).toBe(1);
    expect(await readBack({ temporary: true })).toBe(2);
    await expect(access(dataFolder)).rejects.toThrow('ENOENT');
  });

  it.each([
    ['stopped', false],
    ['killed and then stopped', true],
  ])('leave no child process when they are %s, not even one that got SIGSTOP', async (_, dead) => {
    await using stopping = new AsyncDisposableStack();
    const mongodb = stopping.use(await startEngine('mongodb', { dataFolder: folder.path }));
    const started = descendantsOf(mongodb.pids());
    await standStill(started);
    if (dead) {
      mongodb.hold();
      await mongodb.kill();
    }
    const stoppedAt = awake();
    await stopping.disposeAsync();
    expect(awake() - stoppedAt).toBeLessThan(6_000);
    // A process that the test has just killed may take some milliseconds to end.
    await eventually(() => started.every(isGone), Boolean, 5_000);
  });

  it('end within little more than one stop time-out although all of their processes got SIGSTOP', async () => {
    await using stopping = new AsyncDisposableStack();
    const mongodb = stopping.use(await startEngine('mongodb', { dataFolder: folder.path }));
    const programs = mongodb.pids();
    await standStill([...programs, ...descendantsOf(programs)]);
    const stoppedAt = awake();
    await stopping.disposeAsync();
    expect(awake() - stoppedAt).toBeLessThan(5_500);
    expect(programs.filter((pid) => !isGone(pid))).toStrictEqual([]);
  });

  it('keep running when a second start in their folder is refused', async () => {
    await using nats = await startEngine('nats', { dataFolder: folder.path, temporary: true });
    const [pid] = nats.pids();
    await expect(startEngine('nats', { dataFolder: folder.path })).rejects.toThrow(
      `are run by process ${process.pid} already`,
    );
    expect(nats.pids()).toStrictEqual([pid]);
  });
});

describe('NATS', () => {
  it('syncs every message before the ack, and accepts a whole push in one message', async () => {
    await using nats = await startEngine('nats', { dataFolder: folder.path, temporary: true });
    expect(await jsonOf(`${nats.monitorUrl}/jsz?config=1`)).toMatchObject({ config: { sync_always: true } });
    expect(await jsonOf(`${nats.monitorUrl}/varz`)).toMatchObject({ max_payload: 8 * 1024 * 1024 });
  });
});

describe('a nats-server that another process runs', () => {
  it('is used, but never changed or stopped', async () => {
    const NATS_URL = inject('engines').nats;
    {
      await using nats = await startEngine('nats', { dataFolder: folder.path, environment: { NATS_URL } });
      expect(nats).toMatchObject({ url: NATS_URL, source: 'environment', reason: 'given by NATS_URL' });
      expect(nats.pids()).toStrictEqual([]);
      await expect(nats.kill()).rejects.toThrow('which alone may stop it');
    }
    await using bus = await openTestBus(NATS_URL);
    expect(bus.connected).toBe(true);
  });
});

describe('nats-server or mongod does not start', () => {
  it('where nothing answers at the configured address', async () => {
    const environment = { NATS_URL: 'nats://127.0.0.1:1' };
    const start = startEngine('nats', { dataFolder: folder.path, environment });
    await expect(start).rejects.toThrow(
      /NATS_URL is set, but nothing answers at 127\.0\.0\.1:1\s+→ start it, or unset/,
    );
  });

  it.each([
    [
      'nats',
      'nats-server',
      'nats-server: v2.11.9',
      'nats-server on PATH is 2.11',
      'install nats-server 2.12 or newer',
    ],
    ['mongodb', 'mongod', 'db version v6.0.1', 'mongod on PATH is 6.0', 'install mongod 7 or newer'],
  ] as const)('where %s on PATH is too old', async (name, program, printed, why, help) => {
    const PATH = await fakeProgram(join(folder.path, 'bin'), program, printed);
    const start = startEngine(name, {
      dataFolder: join(folder.path, 'data'),
      environment: { PATH },
      force: 'path',
    });
    await expect(start).rejects.toThrow(why);
    await expect(start).rejects.toThrow(help);
    expect(await readdir(join(folder.path, 'data'))).not.toContain(`${name}-path`);
  });
});

describe('a download of mongod', () => {
  it('is fetched once, kept in the cache folder, and run from there', async () => {
    // Stands in for mongod: the test tries the way from the mirror to a running program.
    const bin = join(folder.path, 'mongodb/bin');
    await mkdir(bin, { recursive: true });
    await writeFile(join(bin, 'mongod'), '#!/bin/sh\necho "Waiting for connections"\nexec sleep 60\n', {
      mode: 0o755,
    });
    const archive = join(folder.path, 'mongod.tgz');
    execFileSync('tar', ['czf', archive, '-C', folder.path, 'mongodb']);
    const bytes = await readFile(archive);
    let downloads = 0;
    const server = createServer(({ url = '' }, answer) => {
      if (url.endsWith('.md5')) return answer.end(createHash('md5').update(bytes).digest('hex'));
      downloads += 1;
      return answer.end(bytes);
    });
    await using mirror = await listen(server);
    const environment = {
      ...process.env,
      XDG_CACHE_HOME: join(folder.path, 'cache'),
      MONGOMS_DOWNLOAD_MIRROR: mirror.url,
      MONGOMS_USE_HTTP: 'true',
    };
    for (const _ of [1, 2]) {
      const dataFolder = join(folder.path, 'data');
      await using engine = await startEngine('mongodb', { dataFolder, environment, force: 'download' });
      expect(engine.reason).toMatch(/^mongod \d+\.\d+\.\d+, downloaded/);
      expect(engine.pids()).toHaveLength(1);
    }
    expect(downloads).toBe(1);
  });
});
