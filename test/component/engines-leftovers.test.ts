// What a killed starter leaves behind, and what must be left alone while that is cleared away.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { access, mkdir, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { removeAbandoned, startEngine } from '@integration-sync/dev/engines';
import { assert, describe, expect, it } from 'vitest';
import { removeAbandonedVolumes, type Client } from '../../dev/engines/docker.ts';
import { writeJson } from '../../dev/process/files.ts';
import { identify, runs } from '../../dev/process/identity.ts';
import { endLeftovers, openLedger } from '../../dev/process/ledger.ts';
import { eventually } from '../support/eventually.ts';
import { temporaryFolder } from '../support/folder.ts';
import { useFolder } from '../support/use-folder.ts';

const folder = useFolder();

const starter = join(import.meta.dirname, '../support/processes/nats-starter.ts');

async function startAndKill(dataFolder: string): Promise<number> {
  const child = spawn(process.execPath, [starter, dataFolder], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = await once(createInterface({ input: child.stdout }), 'line');
  child.kill('SIGKILL');
  await once(child, 'exit');
  return Number(line);
}

/** A process that no starter owns, ended with the test. */
function openStranger(): ChildProcess & Disposable {
  const child = spawn('sleep', ['60'], { stdio: 'ignore' });
  return Object.assign(child, { [Symbol.dispose]: () => void child.kill('SIGKILL') });
}

describe('after the starter was killed', () => {
  it('the next start ends the nats-server of the killed starter, and takes over the folder', async () => {
    const orphan = await startAndKill(folder.path);
    expect(identify(orphan)).toBeDefined();
    const lines: string[] = [];
    await using nats = await startEngine('nats', {
      dataFolder: folder.path,
      temporary: true,
      say: (line) => lines.push(line),
    });
    expect(identify(orphan)).toBeUndefined();
    expect(nats.pids()).not.toContain(orphan);
    expect(lines).toContainEqual(expect.stringMatching(/^ended what a killed start left behind: nats/));
  });

  it('the next test run ends the nats-server in a temporary folder, and removes the folder', async () => {
    const orphan = await startAndKill(folder.path);
    await removeAbandoned(dirname(folder.path), basename(folder.path));
    await expect(access(folder.path)).rejects.toThrow('ENOENT');
    await using other = await temporaryFolder();
    await using _next = await startEngine('nats', { dataFolder: other.path, temporary: true });
    await eventually(
      () => identify(orphan),
      (found) => found === undefined,
    );
  });

  it('the next test run removes the folder of a cluster once all of its starters are gone', async () => {
    const [parent, name] = [dirname(folder.path), basename(folder.path)];
    const nodes = ['n1', 'n2'].map((node) => join(folder.path, node));
    for (const node of nodes) await mkdir(node);
    const [first = '', second = ''] = nodes;
    const orphan = await startAndKill(first);
    {
      await using _lives = await startEngine('nats', { dataFolder: second });
      await removeAbandoned(parent, name);
      expect(identify(orphan)).toBeDefined();
      await expect(access(first)).resolves.toBeUndefined();
    }
    await removeAbandoned(parent, name);
    expect(identify(orphan)).toBeUndefined();
    await expect(access(folder.path)).rejects.toThrow('ENOENT');
  });
});

describe('a start with a file that lists the processes of a killed start', () => {
  it('ends the listed processes, and no other process', async () => {
    using ours = openStranger();
    using stranger = openStranger();
    const path = join(folder.path, 'ledger.json');
    openLedger(path).enter('ours', ours.pid ?? 0);
    expect(await endLeftovers(path)).toStrictEqual(['ours']);
    expect(identify(ours.pid ?? 0)).toBeUndefined();
    expect(identify(stranger.pid ?? 0)).toBeDefined();
  });

  it('restarts a listed process where the file cannot be written, and starts no new process', async () => {
    using ours = openStranger();
    const pid = ours.pid ?? 0;
    const path = join(folder.path, 'of-stack', 'ledger.json');
    const ledger = openLedger(path);
    ledger.enter('ours', pid);
    await rm(dirname(path), { recursive: true });
    await writeFile(dirname(path), '');
    ledger.enter('ours', pid);
    expect(() => ledger.enter('another', pid)).toThrow('EEXIST');
  });

  it('does not end a process that reuses the pid of a dead process', async () => {
    using stranger = openStranger();
    const pid = stranger.pid ?? 0;
    const path = join(folder.path, 'ledger.json');
    writeJson(path, [
      { name: 'nats-server', stopSignal: 'SIGKILL', pid, begunAt: 'another start of the machine:17' },
    ]);
    expect(await endLeftovers(path)).toStrictEqual([]);
    expect(identify(pid)).toBeDefined();
  });

  it.each([
    '',
    '{"half":',
    '"text"',
    '[{"pid":1}]',
    '[{"pid":"1","begunAt":"x","name":"x","stopSignal":"SIGKILL"}]',
  ])('ends no process if the content is %j', async (text) => {
    const path = join(folder.path, 'ledger.json');
    await writeFile(path, text);
    expect(await endLeftovers(path)).toStrictEqual([]);
  });
});

describe('a process that was killed', () => {
  it('counts as ended while it is a zombie', async () => {
    // A shell would reap its child. By the time the line comes, `tail` has taken the shell's place, and
    // `tail` never waits.
    const script = 'sleep 60 & echo $! > "$0"; exec tail -f "$0"';
    const parent = spawn('sh', ['-c', script, join(folder.path, 'child')], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    try {
      const [line] = await once(createInterface({ input: parent.stdout }), 'line');
      const identity = identify(Number(line));
      assert(identity !== undefined);
      process.kill(identity.pid, 'SIGKILL');
      await eventually(
        () => runs(identity),
        (still) => !still,
      );
      // The zombie still answers to a signal.
      expect(process.kill(identity.pid, 0)).toBe(true);
      expect(identify(identity.pid)).toBeUndefined();
    } finally {
      parent.kill('SIGKILL');
    }
  });
});

it('a start removes the Docker volume of a removed data folder, and none whose data folder it may not read', async () => {
  const removed: string[] = [];
  const volumes = ['removed', 'present', 'forbidden'].map((Name) => ({
    Name,
    Labels: { 'integration-sync.data-folder': join(folder.path, Name) },
  }));
  await mkdir(join(folder.path, 'present'));
  await writeFile(join(folder.path, 'present/volume'), 'present\n');
  // A read fails here for root too, whom permissions do not stop.
  await mkdir(join(folder.path, 'forbidden/volume'), { recursive: true });
  const dockerode = {
    listVolumes: async () => ({ Volumes: volumes }),
    getVolume: (name: string) => ({ remove: async () => void removed.push(name) }),
  };
  await removeAbandonedVolumes({ container: { dockerode } } as unknown as Client);
  expect(removed).toEqual(['removed']);
});
