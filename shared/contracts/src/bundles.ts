// A bundle: the events of one push as one message, on a stream of its own. Other services read each event as a message
// of EVENTS. Webhooks, which reads the events of all integrations, reads bundles instead: one message costs nats-server
// and both of its clients a tenth of what 500 do.
//
//   1  3 4711                                            how many events, and the last one's place in EVENTS
//   2   sync_…-created- {"event":"supplier.created",…    how ids and bodies begin from here on
//   3  0 {"externalId":"SUP-1","internalId":"sup_…"}}    the rest of an event's id, and of its body
//   4  1 {"externalId":"SUP-2","internalId":"sup_…"}}
//   5   sync_…- {"event":"sync.completed",…
//   6  completed {"syncId":"sync_…",…}}
//
// What hundreds of events have in common stands in it once: each byte is written, synced, sent and read.
//
// A publisher stores the events first, and then their bundle. Where it dies in between, another replica publishes both
// again: EVENTS knows the ids, so that the bundle names the places that the events have had since the first time. The
// id of a bundle is made of its events. Events that EVENTS had already and events that it had not go into two bundles,
// or an event of an earlier bundle would stand in a second one.
import { bundlesSubject } from './subjects.ts';
import { requestHeaders } from './wire.ts';

/** The header of an event on EVENTS that a bundle follows. A release that made no bundles wrote none. */
export const bundledHeaders = { Bundled: '1' } as const;

export interface BundledEvent {
  id: string;
  /** JSON, in one line. */
  body: string;
}

interface EventMessage extends BundledEvent {
  subject: string;
}

/** Where EVENTS has an event, and whether it had it before. */
export interface EventPlace {
  sequence: number;
  duplicate: boolean;
}

export interface Bundle {
  count: number;
  /** The last event's place in EVENTS. */
  place: number;
  events(): { id: string; body: Uint8Array }[];
}

/** A character has three bytes at most, so that a bundle is far below what nats-server takes as one message. */
const charactersMax = 192 * 1024;

/** The part of the bus that this file needs. */
interface EventPublisher {
  publishBatch(
    messages: readonly EventMessage[],
    headers?: Readonly<Record<string, string>>,
  ): Promise<EventPlace[]>;
}

/** Stores each event for other services, and then their bundle for webhooks. */
export async function publishWithBundle(
  bus: EventPublisher,
  integration: string,
  events: readonly EventMessage[],
  traceparent?: string,
): Promise<void> {
  const places = await storeEvents(bus, events, traceparent);
  await storeBundle(bus, { integration, events, places, traceparent });
}

/** Resolves with where EVENTS has them. The trace is that of the step that publishes them. */
export function storeEvents(
  bus: EventPublisher,
  events: readonly EventMessage[],
  traceparent: string | undefined,
): Promise<EventPlace[]> {
  return bus.publishBatch(events, { ...bundledHeaders, ...traceOf(traceparent) });
}

/** Events that EVENTS has; the n-th place is that of the n-th event. */
export interface StoredEvents {
  integration: string;
  events: readonly EventMessage[];
  places: readonly EventPlace[];
  traceparent: string | undefined;
}

export async function storeBundle(
  bus: EventPublisher,
  { integration, events, places, traceparent }: StoredEvents,
): Promise<void> {
  await bus.publishBatch(bundle(integration, events, places), traceOf(traceparent));
}

const traceOf = (traceparent: string | undefined): Readonly<Record<string, string>> =>
  traceparent === undefined ? {} : { [requestHeaders.traceparent]: traceparent };

interface Line extends BundledEvent {
  place: EventPlace;
}

/** The n-th place is that of the n-th event. */
export function bundle(
  integration: string,
  events: readonly BundledEvent[],
  places: readonly EventPlace[],
): EventMessage[] {
  const subject = bundlesSubject(integration);
  const lines = events.map(({ id, body }, index): Line => {
    const place = places[index] ?? { sequence: 0, duplicate: false };
    return { id, body, place };
  });
  return [true, false].flatMap((had) => {
    const alike = lines.filter(({ place }) => place.duplicate === had);
    return Array.from(partsOf(alike), (part) => ({ subject, ...bundleOf(part) }));
  });
}

/** Each part has at least one line, and no more than fit into one message. */
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

function bundleOf(lines: readonly Line[]): BundledEvent {
  const last = Math.max(...lines.map(({ place }) => place.sequence));
  let body = `${lines.length} ${last}\n`;
  let begin: Begin | undefined;
  for (const event of lines) {
    if (begin === undefined || !goesOn(begin, event)) {
      begin = beginOf(event);
      body += ` ${begin.id} ${begin.body}\n`;
    }
    body += `${event.id.slice(begin.id.length)} ${event.body.slice(begin.body.length)}\n`;
  }
  return { id: `${lines[0]?.id}.${lines.at(-1)?.id}.${lines.length}`, body };
}

/** How the id and the body of an event begin, and those of the next ones too. */
type Begin = BundledEvent;

const dataKey = '"data":';

/** What stands before an event's own data. Whatever that is, reading puts both together again. */
const beginOf = ({ id, body }: BundledEvent): Begin => ({
  id: id.slice(0, id.slice(0, -1).lastIndexOf('-') + 1),
  body: body.slice(0, body.includes(dataKey) ? body.indexOf(dataKey) + dataKey.length : 0),
});

/** Something is left of each id, as a line that begins with a space is another one. */
const goesOn = (begin: Begin, { id, body }: BundledEvent): boolean =>
  id.length > begin.id.length && id.startsWith(begin.id) && body.startsWith(begin.body);

const head = /^(\d+) (\d+)$/;
const headMax = 32;
const space = 0x20;
const lineBreak = 0x0a;

/** Undefined where the bytes are no bundle. `events` reads the events again at each call. */
export function unbundle(bytes: Uint8Array): Bundle | undefined {
  const headEnd = bytes.indexOf(lineBreak);
  const [, count, place] =
    head.exec(textOf(bytes.subarray(0, Math.min(Math.max(headEnd, 0), headMax)))) ?? [];
  if (count === undefined || place === undefined) return undefined;
  return {
    count: Number(count),
    place: Number(place),
    events: () => readLines(bytes.subarray(headEnd + 1)),
  };
}

function readLines(bytes: Uint8Array): { id: string; body: Uint8Array }[] {
  const events: { id: string; body: Uint8Array }[] = [];
  let begin: { id: string; body: Uint8Array } = { id: '', body: new Uint8Array() };
  for (let from = 0; from < bytes.length;) {
    const isBegin = bytes[from] === space;
    const idFrom = isBegin ? from + 1 : from;
    const idEnd = bytes.indexOf(space, idFrom);
    const end = bytes.indexOf(lineBreak, idEnd);
    if (idEnd < 0 || end < 0) break;
    const id = textOf(bytes.subarray(idFrom, idEnd));
    const body = bytes.subarray(idEnd + 1, end);
    if (isBegin) begin = { id, body };
    else events.push({ id: begin.id + id, body: joined(begin.body, body) });
    from = end + 1;
  }
  return events;
}

function joined(begin: Uint8Array, rest: Uint8Array): Uint8Array {
  if (begin.length === 0) return rest;
  const whole = new Uint8Array(begin.length + rest.length);
  whole.set(begin);
  whole.set(rest, begin.length);
  return whole;
}

/** For ids and numbers, which are ASCII. */
const textOf = (bytes: Uint8Array): string => String.fromCharCode(...bytes);
