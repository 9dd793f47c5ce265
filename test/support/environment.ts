// The environment of a test run. A test does not touch a system in use that the environment names: a test
// that pushed into its database, or answered beside its services on its NATS, would become a part of it.
import { accessSync, constants, readFileSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { cacheFolder } from '../../dev/engines/cache.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

const ofSystems =
  /^(MONGODB_(URL|DATABASE)|NATS_(URL|MONITOR_URL|USER|PASSWORD|TOKEN|NKEY_SEED|CREDENTIALS|TLS_\w+|JETSTREAM_\w+)|OTEL_\w+)(_FILE)?$/;

/**
 * An operator may lend the tests a MongoDB, in which they use databases of their own; one NATS is one system.
 */
export function environmentOfTests(
  environment: Environment,
  memory?: string,
): Record<string, string | undefined> {
  const kept = Object.entries(environment).filter(([name]) => !ofSystems.test(name));
  const lent = environment['TEST_MONGODB_URL'];
  return {
    // Tests start some two hundred processes. A process that finds what another has compiled starts in half
    // the time.
    NODE_COMPILE_CACHE: join(cacheFolder(environment), 'compiled'),
    // The engines' data are most of what tests write. No test cuts the power, so none depends on a disk, and syncing to
    // one takes a tenth of a run.
    ...(memory === undefined || isToldWhere(environment) ? {} : { TMPDIR: memory }),
    ...Object.fromEntries(kept),
    ...(lent ? { MONGODB_URL: lent } : {}),
  };
}

const isToldWhere = ({ TMPDIR, TMP, TEMP }: Environment): boolean => Boolean(TMPDIR || TMP || TEMP);

/** Changes the environment of this process itself: Node's own parts read no object that takes its place. */
export function useEnvironment(next: Environment): void {
  for (const name of Object.keys(process.env)) if (next[name] === undefined) delete process.env[name];
  for (const [name, value] of Object.entries(next)) if (value !== undefined) process.env[name] = value;
}

/** Linux keeps it in memory. */
export const memoryFolder = '/dev/shm';

/** A run takes 0.5 GB. */
const roomBytes = 3 * 2 ** 30;

/** The folder, where it and the memory of this process have room and programs may run in it. */
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
