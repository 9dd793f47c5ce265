// A bundle: the events of one push as one message, on a stream of its own. Other services read each event as a message of
// EVENTS; webhooks, which reads the events of all integrations, reads bundles instead, as one message costs nats-server
// and both of its clients a tenth of what 500 do.
//
//   1  2 4711                                           how many events, and the last one's place in EVENTS
//   2  sync_…-created-0 {"event":"supplier.created",…}  an event's id and its body
//   3  sync_…-completed {"event":"sync.completed",…}
//
// An event's publisher stores its bundle after it. One that dies in between publishes both again: EVENTS knows the ids,
// so that the bundle tells the place that the event has had since the first time. A bundle's own id is made of what is
// in it. What EVENTS had already and what it had not are two bundles, or an event that was in a bundle before would be in
// another one now.
import { bundlesSubject } from './subjects.ts';

/** What every event has as a header on EVENTS whose bundle follows it; none by a release that made no bundles has. */
export const bundledHeaders = { Bundled: '1' } as const;

export interface BundledEvent {
  id: string;
  /** JSON, in one line. */
  body: string;
}

/** Where EVENTS has an event, and whether it had it before. */
export interface EventPlace {
  sequence: number;
  duplicate: boolean;
}

export interface BundleMessage {
  subject: string;
  id: string;
  body: string;
}

export interface Bundle {
  count: number;
  /** In EVENTS, of the last of them. */
  place: number;
  events(): { id: string; body: Uint8Array }[];
}

/** Three bytes a character at most: far below what nats-server takes as one message. */
const charactersMax = 192 * 1024;

/** The n-th place is that of the n-th event. */
export function bundle(
  integration: string,
  events: readonly BundledEvent[],
  places: readonly EventPlace[],
): BundleMessage[] {
  const subject = bundlesSubject(integration);
  const messages: BundleMessage[] = [];
  for (const had of [true, false]) {
    let lines: string[] = [];
    let [characters, last] = [0, 0];
    let ids: string[] = [];
    const close = (): void => {
      if (ids.length === 0) return;
      const id = `${ids[0]}.${ids.at(-1)}.${ids.length}`;
      messages.push({ subject, id, body: `${ids.length} ${last}\n${lines.join('')}` });
      [lines, ids, characters, last] = [[], [], 0, 0];
    };
    for (const [index, { id, body }] of events.entries()) {
      const { sequence, duplicate } = places[index] ?? { sequence: 0, duplicate: false };
      if (duplicate !== had) continue;
      const line = `${id} ${body}\n`;
      if (characters + line.length > charactersMax) close();
      lines.push(line);
      ids.push(id);
      characters += line.length;
      last = Math.max(last, sequence);
    }
    close();
  }
  return messages;
}

const head = /^(\d+) (\d+)$/;
const headMax = 32;
const space = 0x20;
const lineBreak = 0x0a;

/** Undefined where the bytes are no bundle. Its events are read only when they are asked for. */
export function unbundle(bytes: Uint8Array): Bundle | undefined {
  const headEnd = bytes.indexOf(lineBreak);
  const [, count, place] =
    head.exec(textOf(bytes.subarray(0, Math.min(Math.max(headEnd, 0), headMax)))) ?? [];
  if (count === undefined || place === undefined) return undefined;
  return {
    count: Number(count),
    place: Number(place),
    events() {
      const events: { id: string; body: Uint8Array }[] = [];
      for (let from = headEnd + 1; from < bytes.length;) {
        const idEnd = bytes.indexOf(space, from);
        const end = bytes.indexOf(lineBreak, idEnd);
        if (idEnd < 0 || end < 0) break;
        events.push({ id: textOf(bytes.subarray(from, idEnd)), body: bytes.subarray(idEnd + 1, end) });
        from = end + 1;
      }
      return events;
    },
  };
}

/** Of ids and numbers, which are ASCII. */
const textOf = (bytes: Uint8Array): string => String.fromCharCode(...bytes);
