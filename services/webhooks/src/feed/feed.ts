// The event feed: a caller asks for events after a place (an encrypted offset), and gets a page, or waits for an event. Where a
// caller begins: beginning.ts.
import {
  Failure,
  limits,
  queryErrorsOf,
  readFeedQuery,
  refuseIfAny,
  subjects,
} from '@integration-sync/contracts';
import {
  type Bus,
  type BusHandler,
  type BusRequest,
  largeRequests,
  type Wait,
  queryOf,
} from '@integration-sync/runtime/bus';
import type { Log } from '@integration-sync/runtime/log';
import { gaugesOf } from '@integration-sync/runtime/metrics';
import { openSemaphore } from '@integration-sync/runtime/semaphore';
import { Counter, type Registry } from 'prom-client';
import { bytesOf } from '../log/logged-batch.ts';
import type { LogStream } from '../log/stream.ts';
import { type Page, readPage } from './page.ts';
import { beginningOf } from './beginning.ts';
import { openPlaces, type Place, type Places } from './place.ts';
import { openTails, type Tail, watchLostWakes } from './tail.ts';

type FeedBus = Pick<Bus, 'readStream' | 'listen' | 'lastOfEach' | 'maxPayloadBytes'>;

/** How many pages are read concurrently, one for each integration. A page reads up to 2 MiB of event batches. */
const readLimits = { max: 4, perKeyMax: 1 };
/** The bound on requests in flight: 250 requests can read pages while the maximum of callers waits. */
const requestsMax = limits.feedWaitersMax + 250;
/** Every request is answered at least this long before its caller stops waiting. */
const marginMs = 5_000;
const answerBytesMax = 4 * 1024 * 1024;
/** The bytes of an answer that are kept for everything besides its events. */
const spareBytes = 128 * 1024;

interface FeedOptions {
  bus: FeedBus;
  stream: Pick<LogStream, 'lookOnce' | 'saw' | 'has' | 'newest'>;
  /** `WEBHOOK_SECRET_KEY`: the keys of the vault also encrypt the places that callers get. */
  keys: string;
  mayEncrypt: () => boolean;
  registry: Registry;
  log: Log;
}

export function openFeed({ bus, stream, keys, mayEncrypt, registry, log }: FeedOptions) {
  const places = openPlaces(keys, mayEncrypt);
  const tails = openTails(bus, stream, log);
  const waiters = openWaiters();
  const inTurn = openSemaphore(readLimits).run;
  const metrics = openFeedMetrics(registry, () => waiters.count);
  const watch = watchLostWakes(bus, tails, () => metrics.lostWakes.inc(), log);

  const answer: BusHandler = async (request) => {
    const asked = readAsked(request, places);
    using tail = tails.use(request.integration);
    if (asked.waitMs > 0) tail.listen();
    const facts = await tail.reach(asked.waitMs > 0 ? asked.after : undefined);
    const start = await beginningOf({ bus, stream }, request.integration, asked, facts);
    const page = await readOrWait(request, asked, tail, start);
    const { newest } = stream;
    const place = { ...page.next, stream: start.stream, sinceMs: page.sinceMs, newest };
    const next = JSON.stringify(places.seal(request.integration, place));
    metrics.shown.inc(page.events.length);
    return {
      body: bytesOf(`{"events":[${page.events.join(',')}],"next":${next},"more":${page.more}}`),
      logFields: { events: page.events.length },
    };
  };

  /** Reads pages until a page has events, or the log goes on after the page, or the wait is over: then the page is empty. */
  async function readOrWait(request: BusRequest, asked: Asked, tail: Tail, start: Place): Promise<Page> {
    const { integration } = request;
    const { kinds, limit } = asked;
    const bytesMax = Math.min(answerBytesMax, bus.maxPayloadBytes - spareBytes);
    const endMs = Math.min(performance.now() + asked.waitMs, request.deadline - marginMs);
    using waiting = new DisposableStack();
    let wait: Wait | undefined;
    let page: Page = { events: [], next: start, sinceMs: start.sinceMs, more: false };
    for (;;) {
      const wakes = tail.wakes();
      const { next: from, sinceMs } = page;
      page = await inTurn(
        () => readPage(tail.window(), { from, sinceMs, kinds, limit, bytesMax }),
        integration,
      );
      const leftMs = endMs - performance.now();
      if (page.events.length > 0 || page.more || leftMs <= 0 || wait?.isOver === true) return page;
      if (wait === undefined) {
        waiting.use(waiters.enter(integration));
        const begun = waiting.use(request.wait(leftMs));
        tail.onWake(() => begun.wake());
        wait = begun;
      }
      while (wakes === tail.wakes()) {
        if (wait.isOver) return page;
        await wait.woken();
      }
    }
  }

  return {
    handlers: { [subjects.eventsRead]: answer },
    /** The bound is large, because most requests of the feed only wait for an event. */
    semaphores: { [subjects.eventsRead]: openSemaphore(largeRequests(requestsMax)) },
    [Symbol.asyncDispose]: () => watch[Symbol.asyncDispose](),
  };
}

type Asked = ReturnType<typeof readAsked>;

function readAsked(request: BusRequest, places: Places) {
  const errors = queryErrorsOf(request);
  const { after: text, ...asked } = readFeedQuery(queryOf(request), errors);
  const after = text === undefined ? undefined : places.open(request.integration, text);
  if (text !== undefined && after === undefined) {
    errors.push({ pointer: 'after', detail: 'after: expected the next of a page that your integration got' });
  }
  refuseIfAny(errors);
  return { ...asked, after };
}

const retryAfterSeconds = 5;

/** Counts and bounds the callers that wait for events at this replica, in all and of each integration. */
export function openWaiters(
  max: number = limits.feedWaitersMax,
  perKeyMax: number = limits.feedWaitersPerIntegrationMax,
) {
  const semaphore = openSemaphore({ max, perKeyMax });
  return {
    get count(): number {
      return semaphore.held;
    },
    /** Counts a waiting caller until disposal. Throws if too many callers wait. */
    enter(integration: string): Disposable {
      const own = semaphore.heldBy(integration);
      if (!semaphore.mayTake(integration)) {
        const who = own >= perKeyMax ? `${own} callers of your integration` : 'Too many callers';
        throw new Failure('unavailable', `${who} wait for events already; ask without wait, or later.`, {
          retryAfterSeconds,
        });
      }
      semaphore.take(integration);
      return { [Symbol.dispose]: () => semaphore.release(integration) };
    },
  };
}

function openFeedMetrics(registry: Registry, waiting: () => number) {
  const registers = [registry];
  const shown = new Counter({
    name: 'webhook_feed_events_total',
    help: 'Events that pages of the feed have shown.',
    registers,
  });
  const lostWakes = new Counter({
    name: 'webhook_feed_lost_wakes_total',
    help: 'Event batches that the check of each second found for waiting callers, because their announcement was lost.',
    registers,
  });
  gaugesOf(registry)('webhook_feed_waiting', 'Callers that wait at this replica for events.', waiting);
  return { shown, lostWakes };
}
