// Names to addresses, with a bound in time. Not through the operating system's own resolver: that one runs on a
// few threads of the process and cannot be called off, so that a handful of dead name servers would make every
// other delivery wait. Its hosts file is honoured all the same.
import { Resolver } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import { LRUCache } from 'lru-cache';

/** All addresses of a name. Rejects if it has none or no name server answers in time. */
export type Resolve = (name: string) => Promise<readonly string[]>;

/** Twice this long at most, as a query is sent once more. */
const queryTimeoutMs = 1_500;
/** How long an answer serves. Every send is checked against addresses that are no older. */
const keptMs = 1_000;
const namesMax = 10_000;
const hostsPath = process.platform === 'win32' ? 'C:\\Windows\\System32\\drivers\\etc\\hosts' : '/etc/hosts';

export function openResolver(resolve: Resolve = resolveName): Resolve {
  const recent = new LRUCache<string, Promise<readonly string[]>>({
    max: namesMax,
    ttl: keptMs,
    ttlResolution: 0,
  });
  return (name) => {
    const found = recent.get(name);
    if (found !== undefined) return found;
    const addresses = resolve(name);
    recent.set(name, addresses);
    // An answer that took long has only just been given.
    addresses.then(
      () => recent.set(name, addresses),
      () => recent.delete(name),
    );
    return addresses;
  };
}

async function resolveName(name: string): Promise<readonly string[]> {
  const listed = await lookInHosts(name);
  if (listed.length > 0) return listed;
  if (name === 'localhost' || name.endsWith('.localhost')) return ['127.0.0.1', '::1'];
  const resolver = new Resolver({ timeout: queryTimeoutMs, tries: 2, maxTimeout: queryTimeoutMs });
  const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
  const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
  if (addresses.length > 0) return addresses;
  throw new Error(`${name} does not resolve`, {
    cause: answers.find((answer) => answer.status === 'rejected')?.reason,
  });
}

async function lookInHosts(name: string): Promise<string[]> {
  const text = await readFile(hostsPath, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw error;
  });
  return text
    .split('\n')
    .map((line) => line.replace(/#.*/, '').trim().toLowerCase().split(/\s+/))
    .filter(([, ...names]) => names.includes(name))
    .flatMap(([address]) => address ?? []);
}
