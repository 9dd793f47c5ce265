// The source `environment`: an operator runs the engine, and the environment names its address.
import { isListening } from '../process/port.ts';
import { NotServed, type EngineName, type RunningEngine } from './engine.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

const variables = { mongodb: 'MONGODB_URL', nats: 'NATS_URL' } as const;
const portDefaults = { mongodb: 27_017, nats: 4_222 } as const;

export function givenAddress(name: EngineName, environment: Environment): string | undefined {
  return environment[variables[name]] || undefined;
}

export async function useGiven(name: EngineName, url: string): Promise<RunningEngine> {
  const hosts = hostsOf(url, portDefaults[name]);
  const answers = await Promise.all(hosts.map(({ host, port }) => isListening(port, host, 3_000)));
  if (hosts.length > 0 && !answers.includes(true)) {
    const places = hosts.map(({ host, port }) => `${host}:${port}`).join(', ');
    throw new NotServed(
      `${variables[name]} is set, but nothing answers at ${places}`,
      `start it, or unset ${variables[name]}`,
    );
  }
  const notOurs = (): never => {
    throw new Error(
      `the engine at ${variables[name]} was started by another process, which alone may stop it`,
    );
  };
  return {
    url,
    description: `given by ${variables[name]}`,
    pids: () => [],
    kill: async () => notOurs(),
    hold: notOurs,
    resume: async () => notOurs(),
    [Symbol.asyncDispose]: async () => undefined,
  };
}

/** The hosts of an address. Empty for `mongodb+srv`, whose hosts only DNS knows: then the start does not check them. */
function hostsOf(url: string, portDefault: number): { host: string; port: number }[] {
  if (url.startsWith('mongodb+srv:')) return [];
  const [, authority = ''] = /^[a-z+]+:\/\/([^/?]*)/i.exec(url) ?? [];
  return authority.split(',').flatMap((place) => {
    const [, host, port] = /^(?:[a-z+]+:\/\/)?(?:.*@)?(\[[^\]]+\]|[^:]+)(?::(\d+))?$/i.exec(place) ?? [];
    if (host === undefined) return [];
    return [{ host: host.replace(/^\[|\]$/g, ''), port: port === undefined ? portDefault : Number(port) }];
  });
}
