// The environment of a test run. A test does not touch a system in use that the environment names: a test
// that pushed into its database, or answered beside its services on its NATS, would become a part of it.
import { join } from 'node:path';
import { cacheFolder } from '../../dev/engines/cache.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

const ofSystems =
  /^(MONGODB_(URL|DATABASE)|NATS_(URL|MONITOR_URL|USER|PASSWORD|TOKEN|NKEY_SEED|CREDENTIALS|TLS_\w+|JETSTREAM_\w+)|OTEL_\w+)(_FILE)?$/;

/**
 * An operator may lend the tests a MongoDB, in which they use databases of their own; one NATS is one system.
 */
export function environmentOfTests(environment: Environment): Record<string, string | undefined> {
  const kept = Object.entries(environment).filter(([name]) => !ofSystems.test(name));
  const lent = environment['TEST_MONGODB_URL'];
  return {
    // Tests start some two hundred processes. A process that finds what another has compiled starts in half
    // the time.
    NODE_COMPILE_CACHE: join(cacheFolder(environment), 'compiled'),
    ...Object.fromEntries(kept),
    ...(lent ? { MONGODB_URL: lent } : {}),
  };
}
