import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { call } from './api/call.ts';
import { Problem } from './api/problem.ts';
import { page } from './api/request.ts';
import { describe, endSession, session, signOut } from './api/session.ts';
import type { TokenDescription } from './api/shapes.ts';
import { Box } from './parts/box.tsx';
import { ProblemLine } from './parts/problem.tsx';
import { Time } from './parts/time.tsx';
import { feed, feedScope, followFeed } from './state/feed.ts';
import { linkTo, route, type Route } from './state/route.ts';
import { useStore } from './store.ts';
import { Offer } from './parts/offer.tsx';
import { Events } from './views/events.tsx';
import { LoadFile } from './views/load-file.tsx';
import { Overview } from './views/overview.tsx';
import { Records } from './views/records.tsx';
import { Run } from './views/run.tsx';
import { Runs } from './views/runs.tsx';
import { SignIn } from './views/sign-in.tsx';
import { Delivery } from './views/delivery.tsx';
import { Webhook } from './views/webhook.tsx';
import { Webhooks } from './views/webhooks.tsx';

const views = [
  ['overview', 'Overview'],
  ['runs', 'Runs'],
  ['records', 'Records'],
  ['load', 'Load a file'],
  ['webhooks', 'Webhooks'],
  ['events', 'Events'],
] as const;

export function App() {
  const { token, described, ended, offered } = useStore(session);
  const problem = useDescription();
  useFeed();
  if (token === undefined) return <SignIn refused={ended} />;
  return (
    <>
      <a class="skip" href="#main" onClick={skip}>
        Skip to the content
      </a>
      <Head />
      {offered !== undefined && <Offer token={offered} />}
      {ended !== undefined && <SignIn ended={ended} />}
      <main id="main" tabIndex={-1}>
        <ProblemLine of={{ problem, at: 0, answer: undefined }} />
        {described === undefined ? (
          ended === undefined && <p class="quiet">Asking what the token is for …</p>
        ) : (
          <View key={described.integrationId} />
        )}
      </main>
    </>
  );
}

/** Moves the focus itself: following `#main` would change the fragment, which is the route. */
function skip(event: Event): void {
  event.preventDefault();
  document.getElementById('main')?.focus();
}

function Head() {
  const { described } = useStore(session);
  const { view } = useStore(route);
  const { problem } = useStore(feed);
  return (
    <header class="head">
      <a class="brand" href={linkTo('overview')}>
        <span class="mark" aria-hidden="true">
          ⇄
        </span>
        Integration Sync
      </a>
      <nav aria-label="Views">
        {views.map(([name, words]) => (
          <a key={name} href={linkTo(name)} aria-current={name === view ? 'page' : undefined}>
            {words}
          </a>
        ))}
      </nav>
      <Box />
      {described !== undefined && (
        <p class="who">
          <strong title={described.integrationId}>{described.integrationId}</strong>
          {described.expiresAt !== null && (
            <span>
              until <Time at={described.expiresAt} />
            </span>
          )}
          {problem !== undefined && <span class="bad">events are away</span>}
          <button type="button" class="small" onClick={signOut}>
            Sign out
          </button>
        </p>
      )}
    </header>
  );
}

function View() {
  const here = useStore(route);
  const heading = useRef<HTMLDivElement>(null);
  const place = [here.view, ...here.ids, here.turn].join('/');
  const first = useRef(place);
  useEffect(() => {
    document.title = `${titleOf(here)} · Integration Sync`;
    // The focus moves to the heading of a new view, so that a person with a keyboard goes on from there.
    if (first.current !== place) heading.current?.querySelector('h1')?.focus();
    first.current = '';
  }, [place]);
  return (
    <div key={place} ref={heading}>
      {viewOf(here)}
    </div>
  );
}

function viewOf({ view, ids: [id, eventId] }: Route) {
  if (view === 'overview') return <Overview />;
  if (view === 'runs') return id === undefined ? <Runs /> : <Run id={id} />;
  if (view === 'records') return <Records />;
  if (view === 'load') return <LoadFile />;
  if (view === 'events') return <Events />;
  if (view === 'webhooks') {
    if (id === undefined) return <Webhooks />;
    return eventId === undefined ? <Webhook id={id} /> : <Delivery id={id} eventId={eventId} />;
  }
  return <h1 tabIndex={-1}>There is no such view</h1>;
}

const titleOf = ({ view, ids }: Route): string =>
  [ids.at(-1), views.find(([name]) => name === view)?.[1] ?? 'Console'].filter(Boolean).join(' · ');

/**
 * Asks `GET /token` once for the integration and scopes of a new token, and again after failures that may pass. Returns such a
 * failure.
 */
function useDescription(): Problem | undefined {
  const { token, described, ended, next } = useStore(session);
  const asked = next ?? (described === undefined && ended === undefined ? token : undefined);
  const [problem, setProblem] = useState<Problem>();
  // A layout effect sends the request before the browser paints, because all views wait for its answer.
  useLayoutEffect(() => {
    setProblem(undefined);
    if (asked === undefined) return undefined;
    const asking = new AbortController();
    let timer: number | undefined;
    const ask = async (): Promise<void> => {
      try {
        const { body, date } = await call<TokenDescription>(page('token'), asking.signal, asked);
        describe(asked, body, date === null ? 0 : Date.parse(date) - Date.now());
      } catch (error) {
        if (asking.signal.aborted) return;
        if (error instanceof Problem && error.passes) {
          setProblem(error);
          timer = window.setTimeout(() => void ask(), error.retryAfterMs);
        } else endSession(asked, error instanceof Problem ? error.message : String(error));
      }
    };
    void ask();
    return () => {
      asking.abort();
      window.clearTimeout(timer);
    };
  }, [asked]);

  const expiresAt = described?.expiresAt ?? undefined;
  useEffect(() => {
    if (token === undefined || expiresAt === undefined) return undefined;
    const inMs = Date.parse(expiresAt) - Date.now() - session.get().aheadMs;
    // A timer can wait for 2^31 - 1 ms, some 24 days; and a page may be open for longer.
    if (inMs > 2 ** 31 - 1) return undefined;
    const timer = window.setTimeout(() => endSession(token, 'This token has ended.'), inMs);
    return () => window.clearTimeout(timer);
  }, [token, expiresAt]);
  return problem;
}

function useFeed(): void {
  const { described } = useStore(session);
  // Once the token has ended, the page polls no more, and keeps the events that it shows. With another token it polls on.
  const integration = described?.scopes.includes(feedScope) === true ? described.integrationId : undefined;
  useEffect(() => (integration === undefined ? undefined : followFeed(integration)), [integration]);
}
