// PostgreSQL with DocumentDB, in a Debian folder of its own: FerretDB keeps its documents in it.
//
// PostgreSQL runs inside a chroot of that folder, as Debian's user `postgres`. Its data is in the stack's own folder, which is
// mounted into the chroot in a mount namespace that ends with the process. So two databases share only the programs, and no mount
// outlives them.
import { existsSync, readdirSync } from 'node:fs';
import { mkdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { Child } from '../process/child.ts';
import { CommandError, runCommand } from '../process/command.ts';
import { readText } from '../process/files.ts';
import { identify, sendSignal } from '../process/identity.ts';
import { NotServed } from './engine.ts';
import { makeOnce, type Maker } from './make.ts';
import type { RowContext } from './row.ts';
import { startOnPort, startProgram } from './rows.ts';
import { pins } from './versions.ts';

/** The version of the way in which this file makes the folder: a start does not use a folder that was made in an older way. */
const recipe = 1;
const packages = [`postgresql-${pins.postgresql}`, `postgresql-${pins.postgresql}-documentdb`];
const programs = `/usr/lib/postgresql/${pins.postgresql}/bin`;
/** Where processes inside the chroot see the data. */
const dataInside = '/mnt';

const settings: Record<string, string> = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '200',
  // The defaults, written out because an acknowledged push must survive a power failure.
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
  // The default of `shared_buffers` is for a machine of 1 GB, and is too small for a load of a million records.
  shared_buffers: '512MB',
  // Shared memory is in the data folder, because a killed server would leave segments in /dev/shm.
  dynamic_shared_memory_type: 'mmap',
  max_wal_size: '4GB',
  checkpoint_timeout: '15min',
  wal_compression: 'on',
  jit: 'off',
  max_worker_processes: '32',
  shared_preload_libraries: 'pg_cron,pg_documentdb_core,pg_documentdb,pg_documentdb_extended_rum',
  'cron.database_name': 'postgres',
  // Expiry and index builds are cron jobs. Each job would connect to the port that was set when the extension was created. No
  // server listens there, or another server. Background workers need no connection.
  'cron.use_background_workers': 'on',
  'cron.log_run': 'off',
  'cron.log_statement': 'off',
  // A second way to expire documents, beside the cron job: a connection each second.
  'documentdb.enableBackgroundWorker': 'off',
  // Without this setting PostgreSQL never uses an index for the order of a result.
  'documentdb.alternate_index_handler_name': 'extended_rum',
  'documentdb.enableSchemaValidation': 'on',
  'documentdb.enableBypassDocumentValidation': 'on',
  'documentdb.enableUserCrud': 'on',
};

const settingArguments = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);

const instead = 'run as root on Debian, or install Docker, or install mongod 7 or newer';

/** Fails immediately where a build, which takes minutes, could not succeed. */
export async function checkPostgresql({ cache }: RowContext): Promise<void> {
  if (process.platform !== 'linux') throw new NotServed('it needs Debian Linux', instead);
  if (process.getuid?.() !== 0) throw new NotServed('it needs root', instead);
  try {
    await runCommand('unshare', ['--mount', '--pid', '--fork', 'true'], {
      signal: cache.signal,
      timeoutMs: 5_000,
    });
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    throw new NotServed(`root may not make a mount namespace here: ${error.message}`, instead, error);
  }
}

/** Resolves with the folder that holds `root`, the Debian system, and `data`, a fresh database to copy. */
export function makePostgresql(context: RowContext): Promise<string> {
  return makeOnce(context, {
    name: `postgresql-${pins.postgresql}-documentdb-${pins.debian}-${recipe}`,
    make: async (maker) => {
      await installMmdebstrap(context, maker);
      const root = join(maker.folder, 'root');
      const help = `see that apt reaches Debian's archive and that ${maker.folder} has 1 GB of room`;
      // The process namespace of the command ends all its processes, and its mount namespace ends all its mounts.
      const alone = ['--mount', '--propagation', 'private', '--pid', '--fork', '--kill-child'];
      await maker.step(
        `installing PostgreSQL ${pins.postgresql} with DocumentDB from Debian`,
        'unshare',
        [...alone, 'mmdebstrap', ...mmdebstrapArguments, pins.debian, root],
        { help },
      );
      await initialise(maker, root, join(maker.folder, 'data'));
    },
  });
}

const mmdebstrapArguments = [
  '--variant=apt',
  `--include=${packages.join(',')}`,
  // The archive of a release that is not out yet may be past its own date of expiry.
  '--aptopt=Acquire::Check-Valid-Until "false"',
  // An unfinished folder is thrown away, so nothing in it need be synced while it is made.
  '--dpkgopt=force-unsafe-io',
  '--dpkgopt=path-exclude=/usr/share/doc/*',
  '--dpkgopt=path-exclude=/usr/share/man/*',
];

async function installMmdebstrap(context: RowContext, maker: Maker): Promise<void> {
  try {
    await runCommand('mmdebstrap', ['--version'], { signal: context.cache.signal, timeoutMs: 10_000 });
    return;
  } catch (error) {
    if (!(error instanceof CommandError && error.missing)) throw error;
  }
  const apt = {
    help: 'install the Debian package mmdebstrap',
    environment: { ...context.environment, DEBIAN_FRONTEND: 'noninteractive' },
  };
  await maker.step("looking at Debian's archive", 'apt-get', ['update'], apt);
  // apt waits for its lock: a machine that has just started may be updating itself.
  const install = ['-o', 'DPkg::Lock::Timeout=120', 'install', '-y', '--no-install-recommends', 'mmdebstrap'];
  await maker.step('installing mmdebstrap with apt', 'apt-get', install, apt);
}

/** A fresh database with its extensions, made once: a copy of it is there in a fraction of a second. */
async function initialise(maker: Maker, root: string, data: string): Promise<void> {
  const run = (what: string, command: string): Promise<string> =>
    maker.step(what, 'unshare', inside(root, data, ['sh', '-c', command]), { help: '' });
  await mkdir(data, { mode: 0o700 });
  await runCommand('chown', [await ownerOf(root), data]);
  await run(
    'initialising PostgreSQL',
    `${programs}/initdb -D ${dataInside} --username=postgres --auth=trust --locale=C.UTF-8 --encoding=UTF8 --no-sync`,
  );
  const extensions = "'create extension documentdb cascade;' 'create extension documentdb_extended_rum;'";
  const quoted = settingArguments.map((text) => `'${text}'`).join(' ');
  const single = `${programs}/postgres --single -D ${dataInside} ${quoted} postgres`;
  await run('adding DocumentDB', `printf '%s\\n' ${extensions} | ${single}`);
}

/** `101:101` – the uid and gid of the user postgres in the Debian folder. */
async function ownerOf(root: string): Promise<string> {
  const [, owner] =
    /^postgres:[^:]*:(\d+:\d+):/m.exec(await readFile(join(root, 'etc/passwd'), 'utf8')) ?? [];
  if (owner === undefined)
    throw new Error('the unpacked Debian packages have no user "postgres" in etc/passwd');
  return owner;
}

/** Arguments of unshare: a command in the chroot, as postgres, with the data mounted. It keeps its pid. */
function inside(root: string, data: string, command: readonly string[]): string[] {
  const mountAndRun = `
    mount --bind "$1" "$2${dataInside}" && mount --rbind /dev "$2/dev" || exit 1
    root="$2"; shift 2; exec chroot --userspec=postgres "$root" "$@"`;
  return ['--mount', '--propagation', 'private', 'sh', '-c', mountAndRun, 'inside', data, root, ...command];
}

export interface Postgresql extends AsyncDisposable {
  url: string;
  child: Child;
}

export async function startPostgresql(context: RowContext, made: string): Promise<Postgresql> {
  const data = await copyData(context, join(made, 'data'));
  return startOnPort(undefined, async (port) => {
    const postgres = [`${programs}/postgres`, '-D', dataInside, '-p', String(port), ...settingArguments];
    const child = await startProgram(context, {
      name: 'postgresql',
      command: 'unshare',
      args: inside(join(made, 'root'), data, postgres),
      readyWhen: /database system is ready to accept connections/,
      // After a kill, PostgreSQL first replays its write-ahead log.
      readyWithinMs: 120_000,
      // The fast shutdown ends sessions instead of waiting for them, and writes all data of the log to its files, which may take
      // too long. The immediate shutdown leaves these writes to the next start, and loses nothing either.
      stopSignal: context.temporary ? 'SIGQUIT' : 'SIGINT',
      hurrySignal: 'SIGQUIT',
      afterStop: () => endSessions(data, 0),
      async beforeStart() {
        await endSessions(data, sessionsEndWithinMs);
        await forgetStranger(data);
      },
    });
    const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
    return { url, child, [Symbol.asyncDispose]: () => child.stop() };
  });
}

async function copyData({ dataFolder, cache }: RowContext, fresh: string): Promise<string> {
  const data = join(dataFolder, 'postgresql');
  if (existsSync(data)) return data;
  const draft = `${data}.draft`;
  await rm(draft, { recursive: true, force: true });
  await mkdir(dataFolder, { recursive: true });
  await runCommand('cp', ['-a', '--reflink=auto', fresh, draft], { signal: cache.signal });
  await rename(draft, data);
  return data;
}

/** How long sessions may take to end by themselves; most take less. */
const sessionsEndWithinMs = 1_000;

/**
 * PostgreSQL refuses to start while a session of a killed PostgreSQL holds their shared memory, whose id is in the pid file. A
 * busy session takes a moment to end, and now and then a session never ends: after `withinMs` the rest is killed.
 */
async function endSessions(data: string, withinMs: number): Promise<void> {
  const [pid = '', , , , , , sharedMemory = ''] = (readText(join(data, 'postmaster.pid')) ?? '').split('\n');
  const [, id] = sharedMemory.trim().split(/\s+/);
  // The PostgreSQL of the pid file still runs: its sessions are in use.
  if (id === undefined || isPostgres(Number(pid))) return;
  const end = performance.now() + withinMs;
  for (let left = attachedTo(id); left.length > 0; left = attachedTo(id)) {
    if (performance.now() >= end) for (const session of left) sendSignal(session, 'SIGKILL');
    await wait(20);
  }
}

/** In /proc/PID/maps, shared memory has its id where files have their inode. */
function attachedTo(id: string): number[] {
  const mapped = new RegExp(`^\\S+ \\S+ \\S+ \\S+ ${id} +/SYSV`, 'm');
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => pid > 0 && isPostgres(pid))
    .filter((pid) => mapped.test(readText(`/proc/${pid}/maps`) ?? ''));
}

/**
 * A killed PostgreSQL leaves a file with its pid, and refuses to start while that pid is alive. PostgreSQL itself recognises a
 * dead pid. The file is removed if another program has the pid by now, but never if that program is a postgres, whose data a
 * second one would damage.
 */
async function forgetStranger(data: string): Promise<void> {
  const file = join(data, 'postmaster.pid');
  const pid = Number.parseInt(readText(file) ?? '', 10);
  if (Number.isNaN(pid) || identify(pid) === undefined) return;
  if (!isPostgres(pid)) await rm(file, { force: true });
}

const isPostgres = (pid: number): boolean => readText(`/proc/${pid}/comm`)?.trim() === 'postgres';
