// npm run bench [-- push gateway events listings rivals rival-pages turns deliveries loads loads-page]
// How the service compares with bare scripts and with rivals on the same engines. Brings up a stack of its
// own, in a temporary folder, and leaves nothing behind. The machine should have nothing else to do.
import { join } from 'node:path';
import { openLog } from '@integration-sync/runtime/log';
import { openStore } from '@integration-sync/runtime/store';
import { writeJson } from '../process/files.ts';
import { startStack } from '../stack/index.ts';
import { openBare } from './bare.ts';
import { openClient } from './client.ts';
import { describeEngines } from './engines.ts';
import { benchEvents } from './events.ts';
import { benchGateway } from './gateway.ts';
import { benchListings } from './listings.ts';
import { benchLoads } from './loads.ts';
import { benchPageLoads } from './loads-page.ts';
import { parseBenchOptions, usage, withRivals, type Bench, type BenchOptions } from './options.ts';
import { benchPushes } from './push.ts';
import { benchRivals } from './rivals.ts';
import { benchRivalListings } from './rivals-listings.ts';
import { installRivals } from './rivals-install.ts';
import { runAsCommand, say, type Start } from './run.ts';
import type { Setting } from './setting.ts';
import { temporaryFolder } from './temporary.ts';
import { benchDeliveries } from './turns-deliveries.ts';
import { benchTurns } from './turns.ts';

const runs: Readonly<Record<Bench, (setting: Setting) => Promise<void>>> = {
  push: benchPushes,
  gateway: benchGateway,
  events: benchEvents,
  listings: benchListings,
  rivals: benchRivals,
  'rival-pages': benchRivalListings,
  turns: benchTurns,
  deliveries: benchDeliveries,
  loads: benchLoads,
  'loads-page': benchPageLoads,
};

async function bench(options: BenchOptions, start: Start): Promise<void> {
  // Before the engines start, so that a failed installation is reported early.
  if (options.names.some((name) => withRivals.has(name))) {
    await start(async (signal) => {
      await installRivals(say, signal);
      return new AsyncDisposableStack();
    });
  }
  const environment = {
    ...process.env,
    GATEWAY_PORT: '0',
    // Only `loads-page` needs the console, and another checkout may not have built its own.
    CONSOLE: options.names.includes('loads-page') ? 'on' : 'off',
    ...(options.engines === undefined ? {} : { ENGINES: options.engines }),
  };
  const startOne: Setting['startBeside'] = async (programs) => {
    const { folder } = await start(temporaryFolder);
    // No clients, because a checkout of another release may not know each scope of this one.
    const clientsFile = join(folder, 'no-clients.json');
    writeJson(clientsFile, []);
    const alone = {
      ...environment,
      // A cache of its own: compiled code of an earlier run would help this checkout and not the other one.
      NODE_COMPILE_CACHE: join(folder, 'compiled'),
      AUTH_CLIENTS_FILE: clientsFile,
    };
    return start((signal) =>
      startStack({ folder, temporary: true, say, environment: alone, signal, ...programs }),
    );
  };
  const stack = await startOne({});
  await using ending = new AsyncDisposableStack();
  const log = openLog({ service: 'bench', level: 'warn' });
  const client = ending.use(openClient(stack.gateway, stack.token({ integration: 'bench' })));
  const store = ending.use(await openStore({ url: stack.mongodb, database: 'bench', log }));
  for (const line of await describeEngines(stack.engines, store)) say(line);
  const bare = await openBare(store);
  for (const name of options.names) {
    say(`\n${name}`);
    await runs[name]({ stack, client, bare, options, say, startBeside: startOne });
  }
}

await runAsCommand(usage, async (start) => {
  const options = parseBenchOptions(process.argv.slice(2));
  if (options.help) say(usage);
  else await bench(options, start);
});
