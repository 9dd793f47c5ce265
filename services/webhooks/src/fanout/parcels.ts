// The parcels of what was matched, in chunks: so what one batch of events makes in memory is bounded, however many
// endpoints there are.
import { firstSending, packParcels, type Message } from '../streams/messages.ts';
import type { Way } from '../streams/subjects.ts';
import type { Matched } from './bundles.ts';

const messagesMax = 500;
const bytesMax = 4 * 1024 * 1024;

export function* parcelChunksOf(matched: readonly Matched[], way: Way): Generator<Message[], undefined> {
  let chunk: Message[] = [];
  let bytes = 0;
  for (const parcel of matched.values().flatMap((one) => parcelsOf(one, way))) {
    chunk.push(parcel);
    bytes += parcel.body.length;
    if (chunk.length < messagesMax && bytes < bytesMax) continue;
    yield chunk;
    chunk = [];
    bytes = 0;
  }
  if (chunk.length > 0) yield chunk;
  return undefined;
}

function* parcelsOf({ integration, groups }: Matched, way: Way): Generator<Message> {
  for (const { to, events } of groups) {
    yield* packParcels({ integration, sending: firstSending, to, events }, way);
  }
}
