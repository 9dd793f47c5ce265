// What an event says of itself: read from the bytes that were announced.

export interface EventHead {
  event: string;
  timestamp: string;
}

/** As our own services write an event, so that a delivery need not parse the whole of it. */
const usualHead = /^\{"event":"([\w.]+)","timestamp":"([\w.:+-]+)",/;
const usualHeadBytesMax = 128;

/** What an event says of itself first, or undefined where the bytes are no event. */
export function readEventHead(body: Uint8Array): EventHead | undefined {
  const [, event, timestamp] = usualHead.exec(textOf(body, 0, usualHeadBytesMax)) ?? [];
  return event === undefined || timestamp === undefined ? readEvent(body) : { event, timestamp };
}

/** The whole of an event, with the integration that it is of. */
export interface EventInFull extends EventHead {
  integrationId: unknown;
  data: unknown;
}

export function readEvent(body: Uint8Array): EventInFull | undefined {
  try {
    const parsed: unknown = JSON.parse(textOf(body, 0, body.length));
    if (typeof parsed !== 'object' || parsed === null) return undefined;
    if (!('event' in parsed && 'timestamp' in parsed)) return undefined;
    const { event, timestamp } = parsed;
    if (typeof event !== 'string' || typeof timestamp !== 'string') return undefined;
    return {
      event,
      timestamp,
      integrationId: 'integrationId' in parsed ? parsed.integrationId : undefined,
      data: 'data' in parsed ? parsed.data : undefined,
    };
  } catch {
    return undefined;
  }
}

const textOf = (bytes: Uint8Array, from: number, to: number): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8', from, to);
