// The steps with a webhook that ask for more than a click.
import { useId, useState } from 'preact/hooks';
import { post, remove } from '../api/request.ts';
import type { RotatedWebhook, Webhook } from '../api/shapes.ts';
import { Action } from '../parts/action.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { Secret } from '../parts/secret.tsx';
import { Time } from '../parts/time.tsx';
import { goTo, linkTo } from '../state/route.ts';
import { webhooksWrite } from './webhooks.tsx';

export interface StepProps {
  path: string;
  onDone: () => void;
}

const dayMs = 86_400_000;

export function Replay({
  path,
  since,
  kinds,
  onDone,
}: StepProps & { since: string | undefined; kinds: readonly string[] }) {
  const [typed, setTyped] = useState<string>();
  const [until, setUntil] = useState('');
  const [kind, setKind] = useState('');
  const id = useId();
  const from = typed ?? since ?? new Date(Date.now() - dayMs).toISOString().slice(0, 16).concat(':00Z');
  const request = post(`${path}/replay`, {
    since: from,
    ...(until === '' ? {} : { until }),
    ...(kind === '' ? {} : { events: [kind] }),
  });
  return (
    <Dialog label="Replay …" title="Send events again" kind={since === undefined ? 'plain' : 'main'}>
      <p>
        Sends what happened after a time once more, in order.
        {since !== undefined && (
          <>
            {' '}
            It was disabled <Time at={since} full />: what it missed since then is filled in.
          </>
        )}
      </p>
      <p class="field">
        <label for={`${id}-since`}>After</label>
        <input
          id={`${id}-since`}
          value={from}
          spellcheck={false}
          onInput={({ currentTarget }) => setTyped(currentTarget.value)}
        />
      </p>
      <p class="field">
        <label for={`${id}-until`}>Until (now, where it is empty)</label>
        <input
          id={`${id}-until`}
          value={until}
          spellcheck={false}
          onInput={({ currentTarget }) => setUntil(currentTarget.value)}
        />
      </p>
      <p class="field">
        <label for={`${id}-kind`}>Events</label>
        <select id={`${id}-kind`} value={kind} onChange={({ currentTarget }) => setKind(currentTarget.value)}>
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
        request={request}
        said={({ queued }) => `${queued} ${queued === 1 ? 'event is' : 'events are'} sent again.`}
        onDone={onDone}
      />
    </Dialog>
  );
}

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
