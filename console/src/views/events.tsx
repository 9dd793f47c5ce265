// The view of live events, with as many rows as the feed keeps, and of a single event by its id.
import { Component } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { call, type Answer } from '../api/call.ts';
import { get } from '../api/request.ts';
import { session } from '../api/session.ts';
import type { FeedEvent, EventPage } from '../api/shapes.ts';
import { Curl } from '../parts/curl.tsx';
import { Choice } from '../parts/filters.tsx';
import { Json } from '../parts/json.tsx';
import { Off } from '../parts/off.tsx';
import { useLacks } from '../state/use-lacks.ts';
import { Time } from '../parts/time.tsx';
import { feed, feedScope, keptEventsMax } from '../state/feed.ts';
import { useKinds, type EventKind } from '../state/kinds.ts';
import { linkTo, route } from '../state/route.ts';
import { useStore } from '../store.ts';
import { aboutOf } from '../text/about.ts';
import { runOf, timeIn } from '../text/box.ts';
import { shortTime } from '../text/time.ts';

export function Events() {
  const { query } = useStore(route);
  const isOff = useLacks(feedScope);
  const kinds = useKinds();
  const { id, kind } = query;
  return (
    <>
      <h1 tabIndex={-1}>Events</h1>
      {isOff && <Off scope={feedScope} what="The feed of events" />}
      {id !== undefined && <OneEvent key={id} id={id} isOff={isOff} />}
      {!isOff && <Live kinds={kinds} kind={kind} />}
      <Catalogue kinds={kinds} />
    </>
  );
}

function Live({ kinds, kind }: { kinds: readonly EventKind[]; kind: string | undefined }) {
  const now = useStore(feed);
  const [held, hold] = useState<readonly FeedEvent[]>();
  const [text, setText] = useState('');
  const events = held ?? now.events;
  const shown = events.filter(
    ({ event, data }) =>
      (kind === undefined || event === kind) && (text === '' || JSON.stringify(data).includes(text)),
  );
  return (
    <section aria-label="Live events">
      <div class="row filters">
        <button
          type="button"
          aria-pressed={held !== undefined}
          onClick={() => hold(held === undefined ? now.events : undefined)}
        >
          {held === undefined ? 'Pause' : 'Go on'}
        </button>
        <Choice
          name="kind"
          label="Kind"
          options={[['', 'All'], ...kinds.map(({ name }) => [name, name] as const)]}
        />
        <label class="field">
          Has in its data
          <input
            type="search"
            value={text}
            spellcheck={false}
            onInput={({ currentTarget }) => setText(currentTarget.value)}
          />
        </label>
        <Curl request={get('/events', { events: kind, wait: 25 })} />
      </div>
      {now.missingSince !== undefined && (
        <p class="problem" role="status">
          Events are missing since {shortTime(new Date(now.missingSince))}: the gateway no longer keeps the
          place where this page was. It goes on from now.
        </p>
      )}
      {now.problem !== undefined && (
        <p class="problem" role="status">
          {now.problem.message}
          {now.problem.passes && ' The console asks again.'}
        </p>
      )}
      {shown.length === 0 && <p class="quiet">{now.isHeard ? 'Nothing yet. It waits.' : 'Asking …'}</p>}
      <ol class="events">
        {shown.map((event) => (
          <EventRow key={event.id} event={event} />
        ))}
      </ol>
      {shown.length === keptEventsMax && <p class="quiet">The last {keptEventsMax} events.</p>}
    </section>
  );
}

/** A row is drawn again only when it is opened or closed: events never change, and the list is drawn often. */
class EventRow extends Component<{ event: FeedEvent }, { isOpen: boolean }> {
  override state = { isOpen: false };

  override shouldComponentUpdate(_: unknown, next: { isOpen: boolean }): boolean {
    return next.isOpen !== this.state.isOpen;
  }

  override render({ event }: { event: FeedEvent }) {
    return (
      <li>
        <details onToggle={({ currentTarget }) => this.setState({ isOpen: currentTarget.open })}>
          <summary>
            <Time at={event.timestamp} /> <strong>{event.event}</strong>{' '}
            <bdi class="about">{aboutOf(event.data)}</bdi>
          </summary>
          {this.state.isOpen && <EventFacts event={event} />}
        </details>
      </li>
    );
  }
}

function EventFacts({ event }: { event: FeedEvent }) {
  const run = runOf(event.id);
  return (
    <>
      <p class="id">
        {event.id}
        {run !== undefined && (
          <>
            {' · '}
            <a href={linkTo('runs', [run])}>its run</a>
          </>
        )}
      </p>
      <Json value={event.data} label={`The data of ${event.event}`} />
    </>
  );
}

const pagesMax = 5;

/** Shows one event. The id of a push's event begins with the time of the push, from which the feed is searched. */
function OneEvent({ id, isOff }: { id: string; isOff: boolean }) {
  const { token } = useStore(session);
  const [found, setFound] = useState<FeedEvent>();
  const [problem, setProblem] = useState<string>();
  const from = timeIn(id);
  useEffect(() => {
    if (isOff || from === undefined) return undefined;
    const looking = new AbortController();
    setProblem(undefined);
    find(id, from, looking.signal).then(setFound, ({ message }: Error) => {
      if (!looking.signal.aborted) setProblem(message);
    });
    return () => looking.abort();
  }, [id, token, isOff]);
  const run = runOf(id);
  const webhook = /^wh_[\da-f]{32}/.exec(id)?.[0];
  return (
    <section class="card" aria-label="The event">
      <h2 class="id">{id}</h2>
      {run !== undefined && (
        <p>
          It was announced by the run <a href={linkTo('runs', [run])}>{run}</a>.
        </p>
      )}
      {webhook !== undefined && (
        <p>
          It is about <a href={linkTo('webhooks', [webhook])}>{webhook}</a>.
        </p>
      )}
      {found !== undefined && (
        <>
          <p>
            <strong>{found.event}</strong> <Time at={found.timestamp} full />
          </p>
          <Json value={found.data} label={`The data of ${found.event}`} />
        </>
      )}
      {found === undefined && from !== undefined && !isOff && (
        <p class="quiet">{problem ?? 'Looking for it …'}</p>
      )}
    </section>
  );
}

/** Reads some pages of the feed, from the begin of the push on: the events of a push follow within seconds. */
async function find(id: string, from: number, signal: AbortSignal): Promise<FeedEvent> {
  let place: { since: string } | { after: string } = { since: new Date(from - 1).toISOString() };
  for (let pages = 0; pages < pagesMax; pages += 1) {
    const { body }: Answer<EventPage> = await call(
      get('/events', { ...place, limit: keptEventsMax }),
      signal,
    );
    const event = body.events.find((one) => one.id === id);
    if (event !== undefined) return event;
    if (!body.more) throw new Error('The feed does not hold it: it keeps 7 days.');
    place = { after: body.next };
  }
  throw new Error('It is not in the first 2,500 events since its push began.');
}

function Catalogue({ kinds }: { kinds: readonly EventKind[] }) {
  return (
    <details class="catalogue">
      <summary>What kinds of events there are</summary>
      <dl class="facts">
        {kinds.map(({ name, summary }) => (
          <>
            <dt key={name} class="id">
              {name}
            </dt>
            <dd>{summary}</dd>
          </>
        ))}
      </dl>
    </details>
  );
}
