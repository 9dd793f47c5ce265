// The environment of a test run. A test does not touch a system in use that the environment names: a test
// that pushed into its database, or answered beside its services on its NATS, would become a part of it.
import { accessSync, constants, readFileSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { cacheFolder } from '../../dev/engines/cache.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

const ofSystems =
  /^(MONGODB_(URL|DATABASE)|NATS_(URL|MONITOR_URL|USER|PASSWORD|TOKEN|NKEY_SEED|CREDENTIALS|TLS_\w+|JETSTREAM_\w+)|OTEL_\w+)(_FILE)?$/;

/**
 * TEST_MONGODB_URL may lend the tests a MongoDB, where they use databases of their own. Tests always start a NATS of
 * their own: all clients of one NATS are one system.
 */
export function environmentOfTests(
  environment: Environment,
  memory?: string,
): Record<string, string | undefined> {
  const kept = Object.entries(environment).filter(([name]) => !ofSystems.test(name));
  const lent = environment['TEST_MONGODB_URL'];
  return {
    // Tests start some two hundred processes. A process that finds what another has compiled starts in half the time.
    NODE_COMPILE_CACHE: join(cacheFolder(environment), 'compiled'),
    // Engines keep their data in memory: no test cuts the power, and syncing to a disk takes a tenth of a run.
    ...(memory === undefined || isToldWhere(environment) ? {} : { TMPDIR: memory }),
    ...Object.fromEntries(kept),
    ...(lent ? { MONGODB_URL: lent } : {}),
  };
}

const isToldWhere = ({ TMPDIR, TMP, TEMP }: Environment): boolean => Boolean(TMPDIR || TMP || TEMP);

/** Changes `process.env` in place: Node's own modules ignore an object that replaces it. */
export function useEnvironment(next: Environment): void {
  for (const name of Object.keys(process.env)) if (next[name] === undefined) delete process.env[name];
  for (const [name, value] of Object.entries(next)) if (value !== undefined) process.env[name] = value;
}

/** A folder that Linux keeps in memory. */
export const memoryFolder = '/dev/shm';

/** A test run needs 0.5 GB of the folder; the rest is a margin. */
const roomBytes = 3 * 2 ** 30;

/** The folder; undefined if it or the memory has too little room, or if no program may run in it. */
export function folderInMemory(folder = memoryFolder): string | undefined {
  try {
    accessSync(folder, constants.W_OK | constants.X_OK);
    const { bavail, bsize } = statfsSync(folder);
    if (Math.min(bavail * bsize, process.availableMemory()) < roomBytes) return undefined;
    const mounts = readFileSync('/proc/mounts', 'utf8').split('\n');
    const mounted = mounts.map((line) => line.split(' ')).findLast(([, where]) => where === folder);
    const [, , kind, options] = mounted ?? [];
    return kind === 'tmpfs' && options?.split(',').includes('noexec') === false ? folder : undefined;
  } catch {
    return undefined;
  }
}
