// Which view the search box opens for an id or a text that a person typed. Pure.

export type Lead =
  | { kind: 'run'; id: string }
  | { kind: 'webhook'; id: string }
  | { kind: 'event'; id: string }
  | { kind: 'record'; id: string };

const run = /^sync_[\da-f]{32}$/;
const eventOfRun = /^sync_[\da-f]{32}-./;
const webhook = /^wh_[\da-f]{32}$/;
const eventOfWebhook = /^wh_[\da-f]{32}-./;
const eventOfExpectation = /^exp_[\da-f]{32}-./;

export function leadOf(text: string): Lead | undefined {
  const id = text.trim();
  if (id === '') return undefined;
  if (run.test(id)) return { kind: 'run', id };
  if (webhook.test(id)) return { kind: 'webhook', id };
  if ([eventOfRun, eventOfWebhook, eventOfExpectation].some((one) => one.test(id)))
    return { kind: 'event', id };
  // An externalId is never trimmed.
  return { kind: 'record', id: text };
}

/** When a run began, in epoch milliseconds, by its id or the id of one of its events: both begin with the time. */
export function timeIn(id: string): number | undefined {
  const digits = /^sync_(?<time>[\da-f]{12})/.exec(id)?.groups?.['time'];
  return digits === undefined ? undefined : Number.parseInt(digits, 16);
}

/** 1 ms before the earliest push of these events, because `since` is exclusive; undefined if no push made any of them. */
export function timeBefore(eventIds: readonly string[]): string | undefined {
  const times = eventIds.map(timeIn).filter((time) => time !== undefined);
  return times.length === 0 ? undefined : new Date(Math.min(...times) - 1).toISOString();
}

/** The run that announced this event. */
export const runOf = (eventId: string): string | undefined => /^sync_[\da-f]{32}(?=-)/.exec(eventId)?.[0];
