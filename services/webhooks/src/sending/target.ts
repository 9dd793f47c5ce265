// What a webhook's url names, read by the rules of WHATWG URL, so that 2130706433, 0x7f.1 and 0177.0.0.1 are all
// seen as the 127.0.0.1 that they are; and whether the addresses behind it may be sent to. It asks no name server.
import { isIP } from 'node:net';
import { metadataNames, type AddressVerdict } from './allowed-addresses.ts';

export interface Target {
  /** With its port, unless that goes without saying. */
  origin: string;
  /** What the Host header says. */
  authority: string;
  /** With the query. */
  path: string;
  /** A name in lower case without its final dot, or an address without brackets. */
  host: string;
  isLiteral: boolean;
  port: number;
  secure: boolean;
}

export type Refusal = { refused: string };

export function readTarget(text: string): Target | Refusal {
  // The parser drops tabs and line breaks silently; no caller means them.
  if (/[\s\p{Cc}]/u.test(text)) return { refused: 'the url has spaces or control characters' };
  // What other parsers read otherwise than this one does.
  if (text.includes('\\') || !text.isWellFormed())
    return { refused: 'the url has backslashes or lone surrogates' };
  if (!/^[a-z][a-z\d+.-]*:\/\//i.test(text)) return { refused: 'not an absolute url' };
  const url = URL.parse(text);
  if (url === null || url.hostname === '') return { refused: 'not an absolute url' };
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    return { refused: `${url.protocol.slice(0, -1)} is not https` };
  }
  // An empty user ("https://@host") leaves no trace in the parsed url.
  if (url.username !== '' || url.password !== '' || /^[a-z]+:[/\\]*[^/\\?#]*@/i.test(text)) {
    return { refused: 'the url must not carry a user or password' };
  }
  const host = url.hostname
    .replace(/^\[|\]$/g, '')
    .replace(/\.+$/, '')
    .toLowerCase();
  if (host === '') return { refused: 'not an absolute url' };
  if (metadataNames.has(host)) return { refused: `${host} is a cloud metadata service` };
  const secure = url.protocol === 'https:';
  const port = url.port === '' ? (secure ? 443 : 80) : Number(url.port);
  if (port === 0) return { refused: 'nothing listens on port 0' };
  return {
    origin: url.origin,
    authority: url.host,
    path: url.pathname + url.search,
    host,
    isLiteral: isIP(host) !== 0,
    port,
    secure,
  };
}

export interface JudgedAddress {
  address: string;
  verdict: AddressVerdict;
}

/** Why the target may not be sent to, or undefined if it may. One bad address among several is enough. */
export function refuseAddresses(target: Target, judged: readonly JudgedAddress[]): string | undefined {
  for (const { address, verdict } of judged) {
    if (verdict.kind === 'refused') return named(target, address, verdict.reason);
    if (verdict.kind === 'allowed') continue;
    if (!target.secure) return 'plain http is not taken, use https';
    if (target.port !== 443) return `port ${target.port} is not taken, use 443`;
  }
  return undefined;
}

/**
 * A caller who gives a name learns nothing of the addresses behind it, which may belong to this service's
 * network.
 */
const named = ({ host, isLiteral }: Target, address: string, reason: string): string =>
  isLiteral ? `${address} is ${reason}` : `${host} leads to ${reason}`;
