// The first ten minutes of an integration that has nothing yet: four steps, ticked off as they are done.
import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import { get, post } from '../api/request.ts';
import type { DeliveryAttempt, Listing, PushAnswer, SyncRun, Webhook } from '../api/shapes.ts';
import { Action } from '../parts/action.tsx';
import { feed } from '../state/feed.ts';
import { linkTo } from '../state/route.ts';
import { leaveSteps, steps } from '../state/steps.ts';
import { useStore } from '../state/store.ts';
import { useLoad, type Loaded } from '../state/use-load.ts';
import { webhooksRead } from './webhooks.tsx';
import { useLacks } from '../parts/off.tsx';

/** Two that are good, and one whose country is no code. */
const sample = {
  suppliers: [
    { externalId: 'SAMPLE-1', name: 'Nordic Timber AB', country: 'SE' },
    { externalId: 'SAMPLE-2', name: 'Sägewerk Müller', country: 'DE' },
    { externalId: 'SAMPLE-3', name: 'Baltic Oak OÜ', country: 'Estonia' },
  ],
};

/** An integration with more pushes than these has begun long ago. */
const pushesMax = 5;
const everyMs = 3_000;

interface FirstStepsProps {
  runs: Loaded<Listing<SyncRun>>;
  webhooks: Loaded<Listing<Webhook>>;
  onDone: () => void;
}

export function FirstSteps({ runs, webhooks, onDone }: FirstStepsProps) {
  const { hasRead, isDone } = useStore(steps);
  const { events } = useStore(feed);
  const noWebhooks = useLacks(webhooksRead);
  const pushes = runs.answer?.body;
  const isNew = pushes !== undefined && pushes.total <= pushesMax && !isDone;
  const webhook = webhooks.answer?.body.entities[0];
  const sent = useLoad<Listing<DeliveryAttempt>>(
    isNew && webhook !== undefined
      ? get(`/webhook-events/${webhook.id}/deliveries`, { limit: 1 })
      : undefined,
    everyMs,
  );
  // What the feed tells has changed what is listed.
  const newest = events[0]?.id;
  useEffect(() => {
    if (isNew && newest !== undefined) onDone();
  }, [newest]);
  // A registration is no event.
  useEffect(() => {
    if (!isNew || webhook !== undefined) return undefined;
    const timer = window.setInterval(webhooks.reload, everyMs);
    return () => window.clearInterval(timer);
  }, [isNew, webhook === undefined]);
  if (!isNew || noWebhooks) return null;

  const failed = pushes.entities.find((run) => run.failed > 0);
  const hasPushed = pushes.total > 0;
  const delivered = sent.answer?.body.entities[0];
  const push = <PushSample again={hasPushed} onDone={onDone} />;
  return (
    <section class="card first" aria-labelledby="first">
      <div class="row">
        <h2 id="first">The first ten minutes</h2>
        <button type="button" class="small" onClick={leaveSteps}>
          Leave them
        </button>
      </div>
      <ol>
        <Step done={hasPushed} title="Push a sample">
          Three suppliers, one of them wrong. {!hasPushed && push}
        </Step>
        <Step done={hasPushed && hasRead} title="Read why one failed">
          {failed === undefined ? (
            'The run of the push says it.'
          ) : (
            <a href={linkTo('runs', [failed.syncId])}>Open the run that has a failure.</a>
          )}
        </Step>
        <Step done={webhook !== undefined} title="Start a receiver">
          In another terminal: <code>npm run receive</code>. It registers itself as a webhook.
        </Step>
        <Step done={delivered !== undefined} title="See its delivery">
          {webhook !== undefined && delivered === undefined && <>It gets what happens from now on. {push}</>}
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

function PushSample({ again, onDone }: { again: boolean; onDone: () => void }) {
  return (
    <Action<PushAnswer>
      label={again ? 'Push the sample again' : 'Push a sample'}
      kind={again ? 'plain' : 'main'}
      scope="integration:suppliers:write"
      request={post('/suppliers', sample)}
      said={({ created, updated, errors }) =>
        `${created} created, ${updated} known already, ${errors.length} failed.`
      }
      onDone={onDone}
    />
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
