// The environment of a test run. A system in use that it names is none of the tests' business: whoever pushed into its
// database, or answered beside its services on its NATS, would be part of it.
import { join } from 'node:path';
import { cacheFolder } from '../../dev/engines/cache.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

const ofSystems =
  /^(MONGODB_(URL|DATABASE)|NATS_(URL|MONITOR_URL|USER|PASSWORD|TOKEN|NKEY_SEED|CREDENTIALS|TLS_\w+|JETSTREAM_\w+))(_FILE)?$/;

/** A MongoDB may be lent to the tests, which take databases of their own in it; one NATS is one system. */
export function environmentOfTests(environment: Environment): Record<string, string | undefined> {
  const kept = Object.entries(environment).filter(([name]) => !ofSystems.test(name));
  const lent = environment['TEST_MONGODB_URL'];
  return {
    // Tests start some two hundred processes. One that finds what another has compiled starts in half the time.
    NODE_COMPILE_CACHE: join(cacheFolder(environment), 'compiled'),
    ...Object.fromEntries(kept),
    ...(lent ? { MONGODB_URL: lent } : {}),
  };
}
