// Which addresses deliveries may go to. An address is named by its numbers here; names are the guard's.
//
//   a cloud's metadata service       refused, even if allow-listed
//   allow-listed (CIDR)              taken, with any port, http or https
//   IPv4 that is globally routable   taken, with https on port 443
//   IPv6 in 2000::/3, less its
//   special-purpose blocks           taken, with https on port 443
//   anything else                    refused
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

export type AddressVerdict = { kind: 'public' } | { kind: 'allowed' } | { kind: 'refused'; reason: string };

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Network = readonly [Address, number];
export type AllowList = readonly Network[];

const networks = (...texts: string[]): AllowList => texts.map((text) => ipaddr.parseCIDR(text));

const metadata = networks(
  '169.254.169.254/32',
  '168.63.129.16/32',
  '100.100.100.200/32',
  'fd00:ec2::254/128',
);

/** What stands in for a metadata service's address. */
export const metadataNames: ReadonlySet<string> = new Set([
  'metadata.google.internal',
  'metadata.goog',
  'instance-data',
  'instance-data.ec2.internal',
]);

const globalUnicast = ipaddr.parseCIDR('2000::/3');
// IETF protocol assignments (Teredo, ORCHID, benchmarking, AMT …), documentation, 6to4, AS112.
const specialPurpose = networks('2001::/23', '2001:db8::/32', '2002::/16', '2620:4f:8000::/48', '3fff::/20');

export function judgeAddress(text: string, allowed: AllowList): AddressVerdict {
  // A zone (fe80::1%eth0) exists only on the local link.
  if (isIP(text) === 0 || text.includes('%')) return { kind: 'refused', reason: 'no address' };
  const address = ipaddr.parse(text);
  if (isIn(address, metadata) || isIn(embeddedIn(address), metadata))
    return { kind: 'refused', reason: 'a cloud metadata service' };
  if (isIn(address, allowed)) return { kind: 'allowed' };
  if (address instanceof ipaddr.IPv6) return judgeIPv6(address);
  const range = address.range();
  return range === 'unicast' ? { kind: 'public' } : { kind: 'refused', reason: inWords(range) };
}

/** The IPv4 address that a translator or tunnel would make of it, wherever there is one. */
function embeddedIn(address: Address): Address {
  if (!(address instanceof ipaddr.IPv6)) return address;
  const [first, second = 0, third = 0] = address.parts;
  const [high, low] = first === 0x2002 ? [second, third] : address.parts.slice(-2);
  return new ipaddr.IPv4([high ?? 0, low ?? 0].flatMap((part) => [part >> 8, part & 0xff]));
}

function judgeIPv6(address: ipaddr.IPv6): AddressVerdict {
  const range = address.range();
  if (range !== 'unicast') return { kind: 'refused', reason: inWords(range) };
  if (!address.match(globalUnicast))
    return { kind: 'refused', reason: 'an address that is not globally routable' };
  if (isIn(address, specialPurpose)) return { kind: 'refused', reason: 'a reserved address' };
  // ISATAP: an IPv4 address behind 0:5efe or 200:5efe, wherever the prefix comes from.
  const [, , , , high = 0, low = 0] = address.parts;
  if ((high === 0 || high === 0x200) && low === 0x5efe)
    return { kind: 'refused', reason: 'a tunnelled address' };
  return { kind: 'public' };
}

/** CIDRs separated by commas; a bare address stands for itself. Undefined where one of them is neither. */
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
