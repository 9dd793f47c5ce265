// The headers of the messages in a stream, as any reader gets them from nats-server.
import { openNats } from '../upgrade/nats.ts';

/** The headers of each message, oldest first; at most a thousand messages. */
export async function storedHeaders(
  url: string,
  stream: string,
  subject: string,
): Promise<ReadonlyMap<string, string>[]> {
  await using nats = await openNats(url);
  const stored = await nats.manager.direct.getBatch(stream, { seq: 1, batch: 1_000, next_by_subj: subject });
  const all = await Array.fromAsync(stored);
  return all.map(({ header }) => new Map(Array.from(header, ([name, [value = '']]) => [name, value])));
}
