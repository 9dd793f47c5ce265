// The first ten minutes of an integration that has nothing yet: four steps, each ticked off once it is done.
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { get } from '../api/request.ts';
import type { DeliveryAttempt, Listing, SyncRun, Webhook } from '../api/shapes.ts';
import { feed } from '../state/feed.ts';
import { linkTo } from '../state/route.ts';
import { leaveSteps, steps } from '../state/steps.ts';
import { useStore } from '../store.ts';
import { useLoad, type Loaded } from '../state/use-load.ts';
import { PushSample } from './sample.tsx';

const everyMs = 3_000;

interface FirstStepsProps {
  runs: Loaded<Listing<SyncRun>>;
  webhooks: Loaded<Listing<Webhook>>;
  onDone: () => void;
}

export function FirstSteps({ runs, webhooks, onDone }: FirstStepsProps) {
  const { hasRead } = useStore(steps);
  const { events } = useStore(feed);
  const pushes = runs.answer?.body;
  const all = webhooks.answer?.body.entities ?? [];
  // Shows an active webhook, if any, because a person may register another one after the first was disabled.
  const webhook = all.findLast(({ active }) => active) ?? all.at(-1);
  const sent = useLoad<Listing<DeliveryAttempt>>(
    webhook === undefined
      ? undefined
      : get(`/webhook-events/${webhook.id}/deliveries`, { outcome: 'succeeded', limit: 1 }),
  );
  const delivered = sent.answer?.body.entities[0];
  // After a new event, the listings of runs and webhooks are out of date.
  const newest = events[0]?.id;
  const seen = useRef(newest);
  useEffect(() => {
    if (newest !== seen.current) onDone();
    seen.current = newest;
  }, [newest]);
  // The feed tells of no registration and no delivery, so the page asks every 3 s.
  useEffect(() => {
    if (delivered !== undefined) return undefined;
    const timer = window.setTimeout(webhook === undefined ? webhooks.reload : sent.reload, everyMs);
    return () => window.clearTimeout(timer);
  }, [webhook === undefined, delivered === undefined, webhooks.at, sent.at]);
  if (pushes === undefined) return null;

  const failed = pushes.entities.find((run) => run.failed > 0);
  const hasPushed = pushes.total > 0;
  const link = webhook && linkTo('webhooks', [webhook.id]);
  return (
    <section class="card first" aria-labelledby="first">
      <div class="row">
        <h2 id="first">The first ten minutes</h2>
        <button type="button" class="small" onClick={leaveSteps}>
          Hide the steps
        </button>
      </div>
      <ol>
        <Step done={hasPushed} title="Push a sample">
          Three suppliers, one of them wrong, or <a href={linkTo('load')}>a file of your own</a>.{' '}
          <PushSample again={hasPushed} onDone={onDone} />
        </Step>
        <Step done={hasPushed && hasRead} title="Read why one failed">
          {failed === undefined ? (
            'The run of the push says it.'
          ) : (
            <a href={linkTo('runs', [failed.syncId])}>Open the run that has a failure.</a>
          )}
        </Step>
        <Step done={delivered !== undefined} title="Start a receiver">
          In another terminal: <code>npm run receive</code>. It registers itself as a webhook.
          {link !== undefined && delivered === undefined && (
            <>
              {' '}
              <a href={link}>One is registered</a>, and has answered no delivery with a 2xx yet.
            </>
          )}
        </Step>
        <Step done={delivered !== undefined} title="See its delivery">
          {webhook !== undefined && delivered === undefined && 'Push the sample again: it gets what happens.'}
          {webhook !== undefined && delivered !== undefined && (
            <a href={linkTo('webhooks', [webhook.id, delivered.eventId])}>
              Open what it was sent and answered.
            </a>
          )}
          {webhook === undefined && 'What is pushed from then on is delivered to it.'}
        </Step>
      </ol>
    </section>
  );
}

function Step({ done, title, children }: { done: boolean; title: string; children: ComponentChildren }) {
  return (
    <li class={done ? 'done' : ''}>
      <strong>
        {title}
        {done && <span class="tick"> — done</span>}
      </strong>
      <div>{children}</div>
    </li>
  );
}
