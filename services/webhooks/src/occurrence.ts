// An event as it is read from the stream: what is said of it there, and what it says of itself.
import { readEvent, readEventHead, type Occurrence } from './envelope.ts';
import type { OccurredEvent } from './subscription.ts';

export interface Occurred extends Occurrence, OccurredEvent {}

export interface StoredEvent {
  id: string;
  sequence: number;
  body: Uint8Array;
}

/** Undefined where the bytes are no event. */
export function readOccurred({ id, sequence, body }: StoredEvent): Occurred | undefined {
  const head = readEventHead(body);
  if (head === undefined) return undefined;
  // One that was published without an id is still one event.
  const eventId = id === '' ? `event-${sequence}` : id;
  return { ...head, eventId, body, sequence, aboutEndpoint: aboutEndpoint(head.event, body) };
}

function aboutEndpoint(event: string, body: Uint8Array): string | undefined {
  if (event !== 'webhook.disabled') return undefined;
  const data = readEvent(body)?.data;
  if (typeof data !== 'object' || data === null || !('webhookId' in data)) return undefined;
  return typeof data.webhookId === 'string' ? data.webhookId : undefined;
}
