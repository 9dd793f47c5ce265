// The dialogs of a webhook: replay its events, rotate its secret, delete it.
import { useEffect, useId, useState } from 'preact/hooks';
import { post, remove } from '../api/request.ts';
import { nowOfGateway } from '../api/session.ts';
import type { RotatedWebhook, Webhook } from '../api/shapes.ts';
import { Action } from '../parts/action.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { ProblemLine } from '../parts/problem.tsx';
import { Secret } from '../parts/secret.tsx';
import { Time } from '../parts/time.tsx';
import { goTo, linkTo } from '../state/route.ts';
import { useUndelivered, type LoadedUndelivered } from '../state/use-undelivered.ts';
import { counted } from '../text/count.ts';
import { instantOf, isInstant, shortTime, utcOf } from '../text/time.ts';
import { replayableIn, type Replayable } from '../text/undelivered.ts';
import { webhooksWrite } from './webhooks.tsx';

export interface StepProps {
  path: string;
  onDone: () => void;
}

const dayMs = 86_400_000;

interface ReplayProps extends StepProps {
  /** When the webhook was last disabled; undefined if it never was. */
  since: string | undefined;
  kinds: readonly string[];
}

export const Replay = (props: ReplayProps) => (
  <Dialog label="Replay …" title="Send events again" kind={props.since === undefined ? 'plain' : 'main'}>
    <ReplayForm {...props} />
  </Dialog>
);

const replayFields = { since: 'After', until: 'Until', events: 'Events' };

function ReplayForm({ path, since, kinds, onDone }: ReplayProps) {
  const [typed, setTyped] = useState<string>();
  const [until, setUntil] = useState('');
  const [kind, setKind] = useState('');
  const id = useId();
  const undelivered = useUndelivered(path);
  const givenUp = useGivenUp(undelivered);
  const first = givenUp?.since;
  const proposed = [first, since].filter((at) => at !== undefined).toSorted()[0] ?? dayAgo();
  const from = typed ?? (givenUp === undefined ? '' : proposed);
  // `Time` prints times by the clock of the gateway too: by another clock, a time without a day could be of another day. The
  // header `Date`, from which that clock is known, is up to a second behind it.
  const now = new Date(nowOfGateway() + 1_000);
  const [after, to] = [instantOf(from, now), instantOf(until, now)];
  const wrong = [...(isInstant(after) ? [] : ['After']), ...(to === '' || isInstant(to) ? [] : ['Until'])];
  const request = post(`${path}/replay`, {
    since: after,
    ...(to === '' ? {} : { until: to }),
    ...(kind === '' ? {} : { events: [kind] }),
  });
  return (
    <>
      <WhatReplaySends since={since} givenUp={givenUp} />
      <ProblemLine of={undelivered} />
      <TimeField label="After" value={from} onChange={setTyped} />
      {since !== undefined && first !== undefined && (
        <p class="row">
          <button type="button" class="small" onClick={() => setTyped(first)}>
            With what was given up
          </button>
          <button type="button" class="small" onClick={() => setTyped(since)}>
            From the disabling alone
          </button>
        </p>
      )}
      <TimeField label="Until (now, where it is empty)" value={until} onChange={setUntil} />
      {givenUp !== undefined && wrong.length > 0 && (
        <p class="bad" role="status">
          {wrong.join(' and ')}: a time as this page shows it, such as {shortTime(new Date())} or{' '}
          {utcOf(new Date())}, or a day such as {new Date().toISOString().slice(0, 10)}.
        </p>
      )}
      <p class="field">
        <label for={id}>Events</label>
        <select id={id} value={kind} onChange={({ currentTarget }) => setKind(currentTarget.value)}>
          <option value="">All that it subscribes to</option>
          {kinds.map((one) => (
            <option key={one}>{one}</option>
          ))}
        </select>
      </p>
      <Action<{ queued: number }>
        label="Replay"
        kind="main"
        scope={webhooksWrite}
        disabled={wrong.length > 0}
        request={request}
        fields={replayFields}
        said={({ queued }) => `${counted(queued, 'event')} ${queued === 1 ? 'is' : 'are'} sent again.`}
        onDone={onDone}
      />
    </>
  );
}

/** The given-up events when the dialog opened, also those that a replay delivers meanwhile. Undefined until they are read. */
function useGivenUp({ answer, problem }: LoadedUndelivered): Replayable | undefined {
  const [givenUp, setGivenUp] = useState<Replayable>();
  useEffect(() => {
    if (givenUp === undefined) setGivenUp(replayableIn(answer, problem));
  }, [answer, problem]);
  return givenUp;
}

interface WhatReplaySendsProps {
  since: string | undefined;
  givenUp: Replayable | undefined;
}

const WhatReplaySends = ({ since, givenUp }: WhatReplaySendsProps) => (
  <>
    <p>
      Sends what happened after a time once more, in order. By its <code>webhook-id</code> a receiver knows an
      event that it has had.
    </p>
    {since !== undefined && (
      <p>
        It was disabled <Time at={since} full />. What waited then, and what happened since, is sent from that
        time on; enabling alone sends nothing old.
      </p>
    )}
    {givenUp !== undefined && <WhatWasGivenUp {...givenUp} />}
  </>
);

const WhatWasGivenUp = ({ count, undated, from }: Replayable) => (
  <>
    {count > 0 && (
      <p>
        {counted(count, 'event')} {count === 1 ? 'was' : 'were'} given up before, after four attempts each:
        the time just before the first of them is filled in.
      </p>
    )}
    {undated > 0 && (
      <p>
        {counted(undated, 'event')} of no push {undated === 1 ? 'was' : 'were'} given up too, and may be older
        than this time: <em>Send again</em> at an attempt sends one.
      </p>
    )}
    {from !== undefined && (
      <p class="quiet">
        The log was read since <Time at={from} />: what was given up before may be missing here, or delivered
        since.
      </p>
    )}
  </>
);

interface TimeFieldProps {
  label: string;
  value: string;
  onChange: (text: string) => void;
}

function TimeField({ label, value, onChange }: TimeFieldProps) {
  const id = useId();
  return (
    <p class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        value={value}
        spellcheck={false}
        onInput={({ currentTarget }) => onChange(currentTarget.value)}
      />
    </p>
  );
}

const dayAgo = (): string => new Date(nowOfGateway() - dayMs).toISOString().slice(0, 16).concat(':00Z');

export function Rotate({ path, onDone }: StepProps) {
  const [seconds, setSeconds] = useState(86_400);
  const [rotated, setRotated] = useState<RotatedWebhook>();
  const id = useId();
  return (
    <Dialog label="Rotate the secret …" title="Rotate the secret" onClose={() => setRotated(undefined)}>
      <p class="field">
        <label for={id}>The old secret signs beside the new one for</label>
        <select
          id={id}
          value={seconds}
          onChange={({ currentTarget }) => setSeconds(Number(currentTarget.value))}
        >
          <option value={0}>no longer</option>
          <option value={3_600}>an hour</option>
          <option value={86_400}>a day</option>
          <option value={604_800}>a week</option>
        </select>
      </p>
      <Action<RotatedWebhook>
        label="Rotate"
        kind="main"
        scope={webhooksWrite}
        request={post(`${path}/rotate-secret`, { gracePeriodSeconds: seconds })}
        said={() => 'Rotated.'}
        onDone={(answer) => {
          setRotated(answer);
          onDone();
        }}
      />
      {rotated !== undefined && <Secret secret={rotated.secret} />}
    </Dialog>
  );
}

export function Delete({ path, webhook }: { path: string; webhook: Webhook }) {
  return (
    <Dialog label="Delete …" title="Delete this webhook" kind="danger">
      <p>
        Deliveries to <bdi>{webhook.url}</bdi> end, and its log of attempts is gone. To stop it for a while,
        pause it.
      </p>
      <Action
        label="Delete"
        kind="danger"
        scope={webhooksWrite}
        request={remove(path)}
        said={() => 'Deleted.'}
        onDone={() => goTo(linkTo('webhooks'))}
      />
    </Dialog>
  );
}
