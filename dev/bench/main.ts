// npm run bench [-- NAMES]: how the service compares with bare scripts, with rivals and with another checkout on the same
// engines. Each benchmark brings up a stack of its own, in a temporary folder, and leaves nothing behind. The machine
// should have nothing else to do.
import { join } from 'node:path';
import { writeJson } from '../process/files.ts';
import { StartFailure } from '../stack/failure.ts';
import { startStack } from '../stack/index.ts';
import { benchEvents } from './events.ts';
import { benchFeed } from './feed.ts';
import { benchListings } from './listings.ts';
import { benchLoads } from './loads.ts';
import { parseBenchOptions, usage, type Bench, type BenchOptions } from './options.ts';
import { benchPushes } from './push.ts';
import { benchRivals } from './rivals.ts';
import { runAsCommand, say, type Start } from './run.ts';
import type { Setting } from './setting.ts';
import { temporaryFolder } from './temporary.ts';
import { benchDeliveries } from './turns-deliveries.ts';
import { benchTurns } from './turns.ts';
import { benchBurst } from './webhooks/burst.ts';
import { openHouse } from './webhooks/house.ts';
import { benchReplicas } from './webhooks/replicas.ts';
import { benchThroughput } from './webhooks/throughput.ts';

const runs: Readonly<Record<Bench, (setting: Setting) => Promise<void>>> = {
  push: benchPushes,
  events: benchEvents,
  listings: benchListings,
  turns: benchTurns,
  deliveries: benchDeliveries,
  loads: benchLoads,
  throughput: benchThroughput,
  burst: benchBurst,
  replicas: benchReplicas,
  feed: benchFeed,
  rivals: benchRivals,
};

async function bench(name: Bench, options: BenchOptions, start: Start): Promise<void> {
  await using ending = new AsyncDisposableStack();
  const environment = {
    ...process.env,
    GATEWAY_PORT: '0',
    // No benchmark needs the console, and another checkout may not have built its console.
    CONSOLE: 'off',
    ...(options.engines === undefined ? {} : { ENGINES: options.engines }),
  };
  await runs[name]({
    options,
    say,
    startHouse: async () => ending.use(await start((signal) => openHouse({ say, environment, signal }))),
    async startStack(programs = {}) {
      const { folder } = ending.use(await start(temporaryFolder));
      // No clients, because a checkout of another release may not know each scope of this one.
      const clientsFile = join(folder, 'no-clients.json');
      writeJson(clientsFile, []);
      const alone = {
        ...environment,
        // Each run begins with an empty cache: code that an earlier run compiled would help only this checkout.
        NODE_COMPILE_CACHE: join(folder, 'compiled'),
        AUTH_CLIENTS_FILE: clientsFile,
      };
      return ending.use(
        await start((signal) =>
          startStack({ folder, temporary: true, say, environment: alone, signal, ...programs }),
        ),
      );
    },
  });
}

await runAsCommand(usage, async (start) => {
  const options = parseBenchOptions(process.argv.slice(2));
  if (options.help) return say(usage);
  if (process.platform !== 'linux')
    throw new StartFailure('The benchmarks count processor time as Linux does, and run nowhere else.');
  for (const name of options.names) {
    say(`\n${name}`);
    await bench(name, options, start);
  }
});
