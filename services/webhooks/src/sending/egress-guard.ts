// The egress guard judges every address of a url before a request is sent. The HTTP client connects only to the addresses that
// the guard returns, and does not resolve the name again.
//
//   a cloud's metadata service       refused, even if allow-listed
//   allow-listed (CIDR)              accepted, with any port, http or https
//   IPv4 that is globally routable   accepted, with https on port 443
//   IPv6 in 2000::/3, less its
//   special-purpose blocks           accepted, with https on port 443
//   anything else                    refused
import { Resolver } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { LRUCache } from 'lru-cache';

export interface CheckedTarget extends Target {
  /** The addresses of the host, one or more. The egress guard has accepted all of them. */
  addresses: readonly string[];
}

/** The error if the guard refuses a url. The integrator sees the message. */
export class TargetRefused extends Error {
  override readonly name = 'TargetRefused';
}

export type EgressGuard = (url: string) => Promise<CheckedTarget>;

export function openEgressGuard({ allowed, resolve }: { allowed: AllowList; resolve: Resolve }): EgressGuard {
  const check = (target: Target, addresses: readonly string[]): CheckedTarget => {
    for (const address of addresses) {
      const verdict = judgeAddress(address, allowed);
      if (verdict === 'allowed') continue;
      if (verdict !== 'public') throw new TargetRefused(named(target, address, verdict.refused));
      if (!target.secure) throw new TargetRefused('plain http is not taken, use https');
      if (target.port !== 443) throw new TargetRefused(`port ${target.port} is not taken, use 443`);
    }
    if (addresses.length === 0) throw new TargetRefused(`${target.host} does not resolve`);
    return { ...target, addresses };
  };

  return async (url) => {
    const target = readTarget(url);
    return check(target, target.isLiteral ? [target.host] : await addressesOf(target.host, resolve));
  };
}

async function addressesOf(name: string, resolve: Resolve): Promise<readonly string[]> {
  try {
    return await resolve(name);
  } catch (error) {
    throw new TargetRefused(`${name} does not resolve`, { cause: error });
  }
}

/** A url is read by the rules of WHATWG URL: 2130706433, 0x7f.1 and 0177.0.0.1 all are the host 127.0.0.1. */
type Target = ReturnType<typeof readTarget>;

function readTarget(text: string) {
  // Tabs and line breaks are refused, because the url parser would drop them without an error.
  if (/[\s\p{Cc}]/u.test(text)) throw new TargetRefused('the url has spaces or control characters');
  // Backslashes and lone surrogates are refused, because other url parsers read them differently.
  if (text.includes('\\') || !text.isWellFormed())
    throw new TargetRefused('the url has backslashes or lone surrogates');
  if (!/^[a-z][a-z\d+.-]*:\/\//i.test(text)) throw new TargetRefused('not an absolute url');
  const url = URL.parse(text);
  if (url === null || url.hostname === '') throw new TargetRefused('not an absolute url');
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    throw new TargetRefused(`${url.protocol.slice(0, -1)} is not https`);
  }
  // An empty user ("https://@host") is searched in the text, because the parsed url does not show it.
  if (url.username !== '' || url.password !== '' || /^[a-z]+:[/\\]*[^/\\?#]*@/i.test(text)) {
    throw new TargetRefused('the url must not carry a user or password');
  }
  // The host: a name in lower case without its final dot, or an address without brackets.
  const host = url.hostname
    .replace(/^\[|\]$/g, '')
    .replace(/(?<!\.)\.+$/, '')
    .toLowerCase();
  if (host === '') throw new TargetRefused('not an absolute url');
  if (metadataNames.has(host)) throw new TargetRefused(`${host} is a cloud metadata service`);
  const secure = url.protocol === 'https:';
  const port = url.port === '' ? (secure ? 443 : 80) : Number(url.port);
  if (port === 0) throw new TargetRefused('nothing listens on port 0');
  return {
    /** Scheme and host, and the port if it is not the scheme's default. */
    origin: url.origin,
    authority: url.host,
    path: url.pathname + url.search,
    host,
    isLiteral: isIP(host) !== 0,
    port,
    secure,
  };
}

/** The error hides the addresses behind a name, which may belong to this service's network. */
const named = ({ host, isLiteral }: Target, address: string, reason: string): string =>
  isLiteral ? `${address} is ${reason}` : `${host} leads to ${reason}`;

type AddressVerdict = 'public' | 'allowed' | { refused: string };

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Network = readonly [Address, number];
type AllowList = readonly Network[];

const networks = (...texts: string[]): AllowList => texts.map((text) => ipaddr.parseCIDR(text));

const metadata = networks(
  '169.254.169.254/32',
  '168.63.129.16/32',
  '100.100.100.200/32',
  'fd00:ec2::254/128',
);

const metadataNames: ReadonlySet<string> = new Set([
  'metadata.google.internal',
  'metadata.goog',
  'instance-data',
  'instance-data.ec2.internal',
]);

const globalUnicast = ipaddr.parseCIDR('2000::/3');
// Special-purpose blocks: IETF protocol assignments (Teredo, ORCHID, benchmarking, AMT …), documentation, 6to4, AS112.
const specialPurpose = networks('2001::/23', '2001:db8::/32', '2002::/16', '2620:4f:8000::/48', '3fff::/20');

function judgeAddress(text: string, allowed: AllowList): AddressVerdict {
  // An address with a zone (fe80::1%eth0) is refused, because it exists only on the local link.
  if (isIP(text) === 0 || text.includes('%')) return { refused: 'no address' };
  const address = ipaddr.parse(text);
  if (isIn(address, metadata) || isIn(embeddedIn(address), metadata))
    return { refused: 'a cloud metadata service' };
  if (isIn(address, allowed)) return 'allowed';
  if (address instanceof ipaddr.IPv6) return judgeIPv6(address);
  const range = address.range();
  return range === 'unicast' ? 'public' : { refused: inWords(range) };
}

/** The IPv4 address that a translator or tunnel may make of an IPv6 address. */
function embeddedIn(address: Address): Address {
  if (!(address instanceof ipaddr.IPv6)) return address;
  const [first, second = 0, third = 0] = address.parts;
  const [high, low] = first === 0x2002 ? [second, third] : address.parts.slice(-2);
  return new ipaddr.IPv4([high ?? 0, low ?? 0].flatMap((part) => [part >> 8, part & 0xff]));
}

function judgeIPv6(address: ipaddr.IPv6): AddressVerdict {
  const range = address.range();
  if (range !== 'unicast') return { refused: inWords(range) };
  if (!address.match(globalUnicast)) return { refused: 'an address that is not globally routable' };
  if (isIn(address, specialPurpose)) return { refused: 'a reserved address' };
  // ISATAP: an IPv4 address behind 0:5efe or 200:5efe, under any prefix.
  const [, , , , high = 0, low = 0] = address.parts;
  if ((high === 0 || high === 0x200) && low === 0x5efe) return { refused: 'a tunnelled address' };
  return 'public';
}

/** Reads CIDRs and bare addresses that are separated by commas. Undefined if an entry is neither. */
export function parseAllowList(text: string): AllowList | undefined {
  const allowed: Network[] = [];
  for (const entry of text.split(',').map((one) => one.trim())) {
    if (entry === '') continue;
    const [address = ''] = entry.split('/');
    const cidr = address === entry ? `${entry}/${address.includes(':') ? 128 : 32}` : entry;
    if (isIP(address) === 0 || !ipaddr.isValidCIDR(cidr)) return undefined;
    allowed.push(ipaddr.parseCIDR(cidr));
  }
  return allowed;
}

const isIn = (address: Address, list: AllowList): boolean =>
  list.some(([network, bits]) => address.kind() === network.kind() && address.match(network, bits));

const words: Readonly<Record<string, string>> = {
  private: 'a private address',
  uniqueLocal: 'a private address',
  loopback: 'a loopback address',
  linkLocal: 'a link-local address',
  multicast: 'a multicast address',
  broadcast: 'the broadcast address',
  unspecified: 'the unspecified address',
  carrierGradeNat: 'a carrier’s internal address',
  ipv4Mapped: 'an IPv4-mapped address',
  rfc6145: 'a translated address',
  rfc6052: 'a translated address',
};

const inWords = (range: string): string => words[range] ?? 'a reserved address';

/**
 * All addresses of a name. The resolver of the operating system is not used: its queries block a few threads and cannot be
 * cancelled, so some dead name servers would delay every delivery. The hosts file is still read. Rejects if the name has none.
 */
export type Resolve = (name: string) => Promise<readonly string[]>;

/** The time-out of a DNS query. A query is sent twice, so that resolving a name takes at most twice this time. */
const queryTimeoutMs = 1_500;
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
    // Sets the entry of the cache again once the addresses are known, so that the lifetime of the entry begins then.
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
