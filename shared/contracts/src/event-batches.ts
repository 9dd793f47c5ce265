// An event batch: the events of one push as one message of the log. Other services read each event as a message of
// EVENTS. Webhooks, which reads the events of all integrations, reads event batches instead: one message costs
// nats-server, its publisher and its reader a tenth of what 500 messages cost.
//
//   1  3 4711                                     number of events, and the last event's sequence in EVENTS
//   2   sync_…-created- {"event":…,"externalId":"   how the ids and bodies of some events begin: prefix 0
//   3  0 0 SUP-1","internalId":"sup_…"}}            an event with that prefix, and how its id and body go on
//   4  0 1 SUP-2","internalId":"sup_…"}}
//   5   sync_…- {"event":…,"syncId":"               prefix 1
//   6  1 completed sync_…",…}}
//
// A prefix that many events have in common is in a batch only once, because each byte must be written, synced, sent and read.
//
// A publisher stores the events in EVENTS first, and then their batch in the log. If the publisher dies between both, another
// replica publishes both again. EVENTS drops duplicates by their ids, and answers with the sequences of the first messages, which
// the batch then names. The id of a batch consists of the ids of its events. So duplicates and new events go into separate
// batches: a batch of both would have a new id, and store events a second time.
//
// A batch of a replay is for one endpoint, which its first line names. EVENTS has, or had, the events of such a batch,
// so they are not published there again.
import type { Announcer } from './announcers.ts';
import { eventBatchesSubject } from './subjects.ts';
import { eventVersion, eventVersionHeader, requestHeaders } from './message-headers.ts';

export interface BatchedEvent {
  id: string;
  /** The event's body: JSON in one line. */
  body: string;
  /** How `id` and `body` begin. All events that begin alike refer to one `Begin` object. */
  begin?: Begin | undefined;
}

export interface Begin {
  id: string;
  body: string;
}

export interface EventMessage extends BatchedEvent {
  subject: string;
  /** Whether the event is not published. It remains part of the id of its batch, which may have been published with it before. */
  isOmitted?: boolean;
}

/** The sequence of an event in EVENTS, and whether EVENTS had the event before. */
export interface PublishAck {
  sequence: number;
  duplicate: boolean;
}

export interface EventBatch {
  count: number;
  /** The last event's sequence in EVENTS. */
  eventsThrough: number;
  /** The only endpoint that gets the batch, in a replay; undefined for a batch that every endpoint may get. */
  endpointId: string | undefined;
  /** Reads the events anew at each call. `asText` decodes the bytes of the batch. */
  events(asText: (bytes: Uint8Array) => string): EventLine[];
}

/** An event in three parts. */
export interface EventLine {
  id: string;
  begin: Readonly<Begin>;
  /** The event's body after `begin.body`. */
  rest: string;
}

/** How many characters one event batch may have: at three bytes each at most, they stay far below `max_payload` of NATS. */
const charactersMax = 192 * 1024;

/** The method of the bus (NATS) that this file needs. */
interface EventPublisher {
  publishBatch(
    messages: readonly EventMessage[],
    headers?: Readonly<Record<string, string>>,
  ): Promise<PublishAck[]>;
}

/** The events of one push, or of another occurrence, with the trace of the step that publishes them. */
interface Publishing {
  announcer: Announcer;
  integration: string;
  events: readonly EventMessage[];
  traceparent?: string | undefined;
}

/** Events that are stored in EVENTS. `acks` has the acks of nats-server, in the order of the published events. */
export interface StoredEvents extends Publishing {
  acks: readonly PublishAck[];
}

/** Stores each event in EVENTS, for other services, and then the batch of the events in the log, for webhooks. */
export async function publishWithBatch(bus: EventPublisher, publishing: Publishing): Promise<void> {
  await storeEventBatch(bus, await storeEvents(bus, publishing));
}

export async function storeEvents(bus: EventPublisher, publishing: Publishing): Promise<StoredEvents> {
  const headers = { ...traceOf(publishing), [eventVersionHeader]: eventVersion };
  const published = publishing.events.filter(({ isOmitted }) => isOmitted !== true);
  const acks = await bus.publishBatch(published, headers);
  return { ...publishing, acks };
}

export async function storeEventBatch(bus: EventPublisher, stored: StoredEvents): Promise<void> {
  await bus.publishBatch(packEventBatches(stored), traceOf(stored));
}

const traceOf = ({ traceparent }: Publishing): Readonly<Record<string, string>> =>
  traceparent === undefined ? {} : { [requestHeaders.traceparent]: traceparent };

interface Line extends BatchedEvent {
  /** The ack of nats-server; undefined for an omitted event, which is not published. */
  ack: PublishAck | undefined;
}

interface Packing extends Omit<StoredEvents, 'events'> {
  events: readonly (BatchedEvent & Pick<EventMessage, 'isOmitted'>)[];
}

export function packEventBatches({ announcer, integration, events, acks }: Packing): EventMessage[] {
  const subject = eventBatchesSubject(announcer, integration);
  const left = acks.values();
  const lines = events.map(({ id, body, begin, isOmitted = false }): Line => {
    const ack = isOmitted ? undefined : (left.next().value ?? noAck);
    return { id, body, begin, ack };
  });
  const hadSome = acks.some(({ duplicate }) => duplicate);
  return [true, false].flatMap((had) => {
    const alike = lines.filter(({ ack }) => (ack?.duplicate ?? hadSome) === had);
    const parts = partsOf(alike).filter((part) => part.some(({ ack }) => ack !== undefined));
    return Array.from(parts, (part) => ({ subject, ...packPart(part) }));
  });
}

const nameOf = ({ id, body }: Begin): string => `${id} ${body}`;

/** Packs events that a replay sends to one endpoint. Message ids begin with `sending`, so no other replay has the same ids. */
export function packAddressedBatches(
  to: { endpointId: string; integration: string; sending: string },
  events: readonly BatchedEvent[],
): EventMessage[] {
  const subject = eventBatchesSubject('replay', to.integration);
  const begins = Map.groupBy(events.map(beginOf), nameOf);
  const lines = events.map(({ id, body }): Line => {
    // A prefix gets a line only if two events begin with it: for one event, the line would make the batch longer.
    const [begin, another] = begins.get(nameOf(beginOf({ id, body }))) ?? [];
    return { id, body, begin: another && begin, ack: noAck };
  });
  return Array.from(partsOf(lines), (part, index) => ({
    subject,
    id: `${to.sending}.${index}`,
    body: packPart(part, to.endpointId).body,
  }));
}

/** The beginning of an event, which events of one push often share: the id up to its first hyphen, and the body up to `data`. */
function beginOf({ id, body }: BatchedEvent): Begin {
  const data = body.indexOf(beforeData);
  return {
    id: id.slice(0, id.indexOf('-') + 1),
    body: data < 0 ? '' : body.slice(0, data + beforeData.length),
  };
}

const beforeData = ',"data":';

const noAck: PublishAck = { sequence: 0, duplicate: false };

/** Divides the events into parts for one message each. A part has at least one event. */
function* partsOf(lines: readonly Line[]): Generator<readonly Line[]> {
  let part: Line[] = [];
  let characters = 0;
  for (const line of lines) {
    const length = line.id.length + line.body.length;
    if (part.length > 0 && characters + length > charactersMax) {
      yield part;
      [part, characters] = [[], 0];
    }
    part.push(line);
    characters += length;
  }
  if (part.length > 0) yield part;
}

function packPart(lines: readonly Line[], endpointId?: string): BatchedEvent {
  const shown = lines.filter(({ ack }) => ack !== undefined);
  const last = Math.max(...shown.map(({ ack = noAck }) => ack.sequence));
  const texts = [`${shown.length} ${last}${endpointId === undefined ? '' : ` ${endpointId}`}`];
  const prefixes = new Map<Begin, number>();
  for (const { id, body, begin = noBegin } of shown) {
    let prefix = prefixes.get(begin);
    if (prefix === undefined) {
      prefix = prefixes.size;
      prefixes.set(begin, prefix);
      texts.push(` ${begin.id} ${begin.body}`);
    }
    texts.push(`${prefix} ${id.slice(begin.id.length)} ${body.slice(begin.body.length)}`);
  }
  return { id: `${lines[0]?.id}.${lines.at(-1)?.id}.${lines.length}`, body: `${texts.join('\n')}\n` };
}

const noBegin: Begin = { id: '', body: '' };

const head = /^(\d+) (\d+)(?: (\w+))?$/;
const headMax = 128;
const lineBreak = 0x0a;

/** Reads an event batch. Undefined if the bytes are none. */
export function readEventBatch(bytes: Uint8Array): EventBatch | undefined {
  const headEnd = bytes.indexOf(lineBreak);
  const [, count, eventsThrough, endpointId] =
    head.exec(textOf(bytes.subarray(0, Math.min(Math.max(headEnd, 0), headMax)))) ?? [];
  if (count === undefined || eventsThrough === undefined) return undefined;
  return {
    count: Number(count),
    eventsThrough: Number(eventsThrough),
    endpointId,
    events: (asText) => readLines(asText(bytes.subarray(headEnd + 1))),
  };
}

function readLines(text: string): EventLine[] {
  const lines: EventLine[] = [];
  const begins: Begin[] = [];
  for (let from = 0; from < text.length;) {
    const prefixEnd = text.indexOf(' ', from);
    const idEnd = text.indexOf(' ', prefixEnd + 1);
    const end = text.indexOf('\n', idEnd);
    if (prefixEnd < 0 || idEnd < 0 || end < 0) break;
    const id = text.slice(prefixEnd + 1, idEnd);
    const rest = text.slice(idEnd + 1, end);
    const begin = begins[Number(text.slice(from, prefixEnd))];
    if (prefixEnd === from) begins.push({ id, body: rest });
    else if (begin !== undefined) lines.push({ id: begin.id + id, begin, rest });
    from = end + 1;
  }
  return lines;
}

/** Decodes ASCII. Spread syntax instead of `apply` takes seven times as long, because it iterates over the bytes. */
const textOf = (bytes: Uint8Array): string => String(Reflect.apply(String.fromCharCode, undefined, bytes));
