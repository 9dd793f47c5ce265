// The headers as the client sent them. Node keeps the first of several headers of one name and drops the rest, and a
// proxy before the gateway may have gone by another one than the first.
import type { IncomingMessage } from 'node:http';

/** How often a header stands in the request; `name` is in lower case. */
export function countHeader({ rawHeaders }: IncomingMessage, name: string): number {
  let count = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const header = rawHeaders[at];
    if (header?.length === name.length && header.toLowerCase() === name) count += 1;
  }
  return count;
}
