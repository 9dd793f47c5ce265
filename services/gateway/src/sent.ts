// What was really sent. Node keeps the first of several headers of one name and drops the rest; which of them somebody
// before us went by is anyone's guess.
import type { IncomingMessage } from 'node:http';

/** How often a header stands in the request; `name` in lower case. */
export function timesSent({ rawHeaders }: IncomingMessage, name: string): number {
  let count = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const sent = rawHeaders[at];
    if (sent?.length === name.length && sent.toLowerCase() === name) count += 1;
  }
  return count;
}
