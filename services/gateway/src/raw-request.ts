// A request as the client sent it. Of several headers with one name, Node keeps only the first, and a proxy before the
// gateway may have read a later header.
import type { IncomingMessage } from 'node:http';

/** How often a header occurs in the request; `name` is in lower case. */
export function countHeader({ rawHeaders }: IncomingMessage, name: string): number {
  let count = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const header = rawHeaders[at];
    if (header?.length === name.length && header.toLowerCase() === name) count += 1;
  }
  return count;
}

/** The query string after the first question mark, still encoded, because the service decodes it. */
export function rawQuery({ raw: { url = '' } }: { raw: Pick<IncomingMessage, 'url'> }): string {
  const mark = url.indexOf('?');
  return mark === -1 ? '' : url.slice(mark + 1);
}
