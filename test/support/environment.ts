// The environment of a test run. A test does not touch a system in use that the environment names: a test
// that pushed into its database, or answered beside its services on its NATS, would become a part of it.
import { readFileSync, statfsSync } from 'node:fs';
import { freemem } from 'node:os';
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
  memory: string | undefined,
): Record<string, string | undefined> {
  const kept = Object.entries(environment).filter(([name]) => !ofSystems.test(name));
  const lent = environment['TEST_MONGODB_URL'];
  return {
    // Tests start some two hundred processes. A process that finds what another has compiled starts in half
    // the time.
    NODE_COMPILE_CACHE: join(cacheFolder(environment), 'compiled'),
    // The data of all engines. No test cuts the power, so none depends on a disk, and syncing to one takes a tenth of a run.
    ...(memory === undefined ? {} : { TMPDIR: memory }),
    ...Object.fromEntries(kept),
    ...(lent ? { MONGODB_URL: lent } : {}),
  };
}

/** A run takes 0.5 GB of it. */
const roomBytes = 3 * 2 ** 30;

/** A folder that Linux keeps in memory, where there is enough of both and programs may run in it. */
export function folderInMemory(folder = '/dev/shm'): string | undefined {
  try {
    const { bavail, bsize } = statfsSync(folder);
    if (Math.min(bavail * bsize, freemem()) < roomBytes) return undefined;
    const mounts = readFileSync('/proc/mounts', 'utf8').split('\n');
    const options = mounts.map((line) => line.split(' ')).find(([, where]) => where === folder)?.[3];
    return options === undefined || options.split(',').includes('noexec') ? undefined : folder;
  } catch {
    return undefined;
  }
}
