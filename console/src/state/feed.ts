// Reads the event feed (`GET /events`) in one tab for all: a browser opens six connections to a host, and a long poll
// in each tab would use up these connections. The tab with the Web Lock polls, and broadcasts what it reads. A hidden tab never
// polls.
import { call } from '../api/call.ts';
import { Problem } from '../api/problem.ts';
import { get } from '../api/request.ts';
import type { FeedEvent, EventPage } from '../api/shapes.ts';
import { nowOfGateway, prefix, session } from '../api/session.ts';
import { createStore } from '../store.ts';
import { visible } from './visibility.ts';

export interface Feed {
  /** The newest events, newest first. */
  events: readonly FeedEvent[];
  /** How many events came in each second of the last minute, by epoch second. */
  perSecond: ReadonlyMap<number, number>;
  /** Epoch milliseconds since which events are missing, because the log dropped them before the page read them. */
  missingSince: number | undefined;
  problem: Problem | undefined;
  /** Whether at least one page of the feed has been read. */
  isHeard: boolean;
}

interface Told {
  hello?: true;
  events?: readonly FeedEvent[];
  next?: string;
  missingSince?: number;
}

export const feedScope = 'integration:events:read';
export const keptEventsMax = 500;
export const rateSeconds = 60;
const waitSeconds = 25;
const begunBeforeMs = 60_000;
/** The pause between two polls and between two redraws, because a busy feed answers each poll immediately. */
const betweenMs = 250;
const withoutLocksMs = 5_000;
const newsMs = 10_000;
/** `news` waits at least this long after an event, until its attempt is logged. A random part spreads the requests. */
const soonMs = 500;

const nothing: Feed = {
  events: [],
  perSecond: new Map(),
  missingSince: undefined,
  problem: undefined,
  isHeard: false,
};

let shownAtMs = -Infinity;

/** Draws the feed again four times a second at most, in animation frames: a hidden tab gets none. */
function show(tell: () => void): void {
  const inMs = Math.max(0, shownAtMs + betweenMs - performance.now());
  const draw = (): void => {
    shownAtMs = performance.now();
    tell();
  };
  window.setTimeout(() => requestAnimationFrame(draw), inMs);
}

export const feed = createStore<Feed>(nothing, show);

let newsAtMs = -Infinity;

/** Tells views of `news` soon after the first event, and every 10 to 15 s while more come. */
function spread(tell: () => void): void {
  const restMs = newsMs * (1 + Math.random() / 2);
  const inMs = Math.max(newsAtMs + restMs - performance.now(), soonMs * (1 + 2 * Math.random()));
  window.setTimeout(() => {
    newsAtMs = performance.now();
    tell();
  }, inMs);
}

/** A counter that rises with new events: what the views show may be out of date, so they load again. */
export const news = createStore(0, spread);
/** Whether the feed works, so that `news` rises with new events. */
export const isToldNews = (): boolean => feed.get().isHeard && feed.get().problem === undefined;
export const isNewsFresh = (): boolean => performance.now() < newsAtMs + newsMs;

/** Follows the feed of an integration while the tab is visible, until the returned function is called. */
export function followFeed(integration: string): () => void {
  const name = `feed:${prefix}/:${integration}`;
  const channel = new BroadcastChannel(name);
  let leading: AbortController | undefined;
  let next: string | undefined;
  let isLeading = false;
  feed.set(nothing);

  const take = ({ events = [], next: told, missingSince }: Told): void => {
    next = told ?? next;
    const now = feed.get();
    const kept = newest(now.events, events);
    // The first page of the feed is no news: its events occurred before the views were loaded, or just after.
    if (missingSince !== undefined || (now.isHeard && kept[0] !== now.events[0])) news.set(news.get() + 1);
    feed.set({
      events: kept,
      perSecond: counted(now.perSecond, unknown(now.events, events)),
      missingSince: missingSince ?? now.missingSince,
      problem: undefined,
      isHeard: true,
    });
  };
  const tell = (told: Told): void => {
    take(told);
    channel.postMessage(told);
  };
  channel.addEventListener('message', ({ data }: MessageEvent<Told>) => {
    if (data.hello === undefined) take(data);
    else if (isLeading && feed.get().isHeard)
      channel.postMessage({
        events: feed.get().events.toReversed(),
        ...(next === undefined ? {} : { next }),
      });
  });
  channel.postMessage({ hello: true } satisfies Told);

  const askOnce = async (wait: number, signal: AbortSignal): Promise<number> => {
    const from =
      next === undefined
        ? { since: new Date(nowOfGateway() - begunBeforeMs).toISOString() }
        : // After a failure, the page does not wait for the next event to say that the feed works again.
          { after: next, wait: feed.get().problem === undefined ? wait : 0 };
    try {
      const { body } = await call<EventPage>(get('/events', { ...from, limit: keptEventsMax }), signal);
      tell({ events: body.events, next: body.next });
      return betweenMs;
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      signal.throwIfAborted();
      // After a change of WEBHOOK_SECRET_KEY the gateway answers 400 to a place that was sealed with a removed key.
      if (next !== undefined && [400, 409].includes(error.status)) {
        next = undefined;
        tell({ missingSince: feed.get().missingSince ?? Date.parse(lastTime(feed.get())) });
        return betweenMs;
      }
      feed.set({ ...feed.get(), problem: error });
      return error.passes ? error.retryAfterMs : Infinity;
    }
  };
  const lead = async (wait: number, signal: AbortSignal): Promise<void> => {
    isLeading = true;
    try {
      while (!signal.aborted) {
        const pauseMs = await askOnce(wait, signal);
        await pause(wait === 0 ? Math.max(pauseMs, withoutLocksMs) : pauseMs, signal);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      isLeading = false;
    }
  };
  const follow = (): void => {
    leading?.abort();
    // Once its token has ended, a tab leaves the lock to other tabs. It polls again as soon as a token is there.
    if (!visible.get() || session.get().ended !== undefined) return;
    leading = new AbortController();
    const { signal } = leading;
    // Browsers have locks only for pages from https or from this machine; without locks each tab polls, every 5 s.
    const locks: LockManager | undefined = navigator.locks;
    if (locks === undefined) void lead(0, signal);
    else locks.request(name, { signal }, () => lead(waitSeconds, signal)).catch(() => undefined);
  };
  const forget = [visible.subscribe(follow), session.subscribe(follow)];
  follow();
  return () => {
    for (const one of forget) one();
    leading?.abort();
    channel.close();
    feed.set(nothing);
  };
}

const lastTime = ({ events }: Feed): string => events[0]?.timestamp ?? new Date(nowOfGateway()).toISOString();

function unknown(before: readonly FeedEvent[], events: readonly FeedEvent[]): FeedEvent[] {
  const ids = new Set(before.map(({ id }) => id));
  return events.filter(({ id }) => !ids.has(id));
}

export const newest = (before: readonly FeedEvent[], events: readonly FeedEvent[]): readonly FeedEvent[] =>
  events.length === 0 ? before : [...unknown(before, events).toReversed(), ...before].slice(0, keptEventsMax);

/** Counts each event in the second in which the event occurred, not in which the page reads the event. The seconds are of the browser's clock. */
function counted(
  before: ReadonlyMap<number, number>,
  events: readonly FeedEvent[],
): ReadonlyMap<number, number> {
  const from = Math.floor(Date.now() / 1_000) - rateSeconds;
  const counts = new Map([...before].filter(([at]) => at > from));
  for (const { timestamp } of events) {
    const at = Math.floor((Date.parse(timestamp) - session.get().aheadMs) / 1_000);
    if (at > from) counts.set(at, (counts.get(at) ?? 0) + 1);
  }
  return counts;
}

function pause(forMs: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const timer = Number.isFinite(forMs) ? window.setTimeout(resolve, forMs) : undefined;
  const stop = (): void => reject(signal.reason);
  signal.addEventListener('abort', stop);
  return promise.finally(() => {
    window.clearTimeout(timer);
    signal.removeEventListener('abort', stop);
  });
}
