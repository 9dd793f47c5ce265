// The options of `npm start` after its `--`.
import { parseArgs } from 'node:util';
import { messageOf, readCount } from '../process/words.ts';
import { StartFailure } from './failure.ts';
import { replicatedServices, type Replicas } from './services.ts';

export interface StartOptions {
  replicas: Replicas;
  fresh: boolean;
  /** Whether services restart when their sources change. */
  watch: boolean;
  help: boolean;
}

export const usage = `Usage: npm start [-- OPTIONS]

  --fresh           begin with no data
  --catalog N       run N replicas of a service (also --batches N, --webhooks N)
  --watch           restart a service when its sources change
  --help            print this

Settings are environment variables, such as GATEWAY_PORT=8081 npm start; docs/settings.md lists them.
ENGINES=docker|path|download|build takes MongoDB and NATS from one source alone.
`;

const replicasMax = 16;

export function parseOptions(args: readonly string[]): StartOptions {
  const { fresh = false, watch = false, help = false, ...counts } = parse(args);
  const replicas: Replicas = {};
  for (const service of replicatedServices) {
    const count = counts[service];
    if (count !== undefined) replicas[service] = parseCount(service, count);
  }
  return { replicas, fresh, watch, help };
}

function parse(args: readonly string[]) {
  try {
    const count = { type: 'string' } as const;
    const flag = { type: 'boolean' } as const;
    return parseArgs({
      args: [...args],
      options: {
        fresh: flag,
        watch: flag,
        help: { ...flag, short: 'h' },
        catalog: count,
        batches: count,
        webhooks: count,
      },
    }).values;
  } catch (error) {
    // The first sentence of Node's message names the option; the rest explains a syntax that does not help here.
    const [said] = error instanceof Error ? error.message.split('. ') : [];
    throw new StartFailure(`${said ?? String(error)}.\n\n${usage}`);
  }
}

function parseCount(service: string, text: string): number {
  try {
    return readCount(`--${service}`, text, [1, replicasMax]);
  } catch (error) {
    throw new StartFailure(`${messageOf(error)}.\n\n${usage}`);
  }
}
