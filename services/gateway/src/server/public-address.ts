// Addresses of the interface in answers, as callers need them. A service writes `Link` and `Location` with the path for
// which the gateway was asked; where a proxy takes a prefix off the path, callers need the prefix before it. The
// operator sets the prefix: a header such as X-Forwarded-Prefix can come from a caller as well as from the proxy, and
// the gateway could not tell the one from the other.
import { basePath } from '@integration-sync/contracts';

/** Headers of answers that hold paths of the interface: `</api/…>; rel="next"` and `/api/…`. */
const addressHeaders: ReadonlySet<string> = new Set(['link', 'location']);

/** The header's value as a caller in front of the proxy needs it. */
export function publicAddress(publicBasePath: string, name: string, value: string): string {
  if (publicBasePath === '' || !addressHeaders.has(name)) return value;
  return value.startsWith(basePath)
    ? publicBasePath + value
    : value.replaceAll(`<${basePath}`, `<${publicBasePath}${basePath}`);
}
