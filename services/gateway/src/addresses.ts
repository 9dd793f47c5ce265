// Addresses of ours in answers. Services write them as the gateway is asked for them; a proxy that takes a prefix off the
// path leaves callers with other ones. Which prefix that is, an operator says: a header such as X-Forwarded-Prefix can
// come from a caller as well as from a proxy, and would be believed either way.
import { basePath } from '@integration-sync/contracts';

/** Headers of answers that hold paths of ours: `</api/…>; rel="next"` and `/api/…`. */
const addressHeaders: ReadonlySet<string> = new Set(['link', 'location']);

/** The value as callers outside of the proxy need it. */
export function publicAddress(publicBasePath: string, name: string, value: string): string {
  if (publicBasePath === '' || !addressHeaders.has(name)) return value;
  return value.startsWith(basePath)
    ? publicBasePath + value
    : value.replaceAll(`<${basePath}`, `<${publicBasePath}${basePath}`);
}
