import { useId, useMemo, useState } from 'preact/hooks';
import { get, post } from '../api/request.ts';
import type { Listing, RegisteredWebhook, Webhook } from '../api/shapes.ts';
import { Action } from '../parts/action.tsx';
import { Curl } from '../parts/curl.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { KindBoxes } from '../parts/kinds.tsx';
import { Off } from '../parts/off.tsx';
import { useLacks } from '../state/use-lacks.ts';
import { ProblemLine } from '../parts/problem.tsx';
import { Secret } from '../parts/secret.tsx';
import { Standing } from '../parts/standing.tsx';
import { Pager, Table } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { Whose } from '../parts/whose.tsx';
import { linkTo, route } from '../state/route.ts';
import { useStore } from '../store.ts';
import { useLoad } from '../state/use-load.ts';
import { isOfThisMachine } from '../here.ts';

export const webhooksRead = 'integration:webhooks:read';
export const webhooksWrite = 'integration:webhooks:write';

/** The page's labels by the names of a webhook's fields. */
export const webhookFields = {
  url: 'Address',
  events: 'Events',
  description: 'Description',
  inFlightMax: 'Deliveries in flight',
  recover: 'Comes back by itself after failures',
  headers: 'Headers of each delivery',
};

export function Webhooks() {
  const { query } = useStore(route);
  const isOff = useLacks(webhooksRead);
  const { cursor } = query;
  const request = get('/webhook-events', { cursor, limit: 50 });
  const loaded = useLoad<Listing<Webhook>>(isOff ? undefined : request, true);
  const webhooks = loaded.answer?.body.entities;
  return (
    <>
      <div class="row">
        <h1 tabIndex={-1}>Webhooks</h1>
        <Dialog label="Register a webhook" title="Register a webhook" kind="main">
          <Register onDone={loaded.reload} />
        </Dialog>
        <Curl request={request} />
      </div>
      {isOff && <Off scope={webhooksRead} what="The list of webhooks" />}
      <ProblemLine of={loaded} />
      {webhooks?.length === 0 && (
        <p class="quiet">
          There is none yet. <code>npm run receive</code> starts a receiver on this machine and registers it.
        </p>
      )}
      {webhooks !== undefined && webhooks.length > 0 && (
        <Table label="Webhooks" heads={['State', 'Address', 'Events', 'Since']}>
          {webhooks.map((webhook) => (
            <tr key={webhook.id}>
              <td class="words">
                <Standing webhook={webhook} />
              </td>
              <td class="words">
                <a href={linkTo('webhooks', [webhook.id])}>
                  <bdi>{webhook.url}</bdi>
                </a>
                <br />
                <span class="id quiet">{webhook.id}</span>
              </td>
              <td title={webhook.events.join(', ')}>{webhook.events.length}</td>
              <td>
                <Time at={webhook.createdAt} />
              </td>
            </tr>
          ))}
        </Table>
      )}
      <Pager of={loaded} noun="webhook" />
    </>
  );
}

function Register({ onDone }: { onDone: () => void }) {
  const [url, setUrl] = useState('');
  const [events, setEvents] = useState<string[]>([]);
  const [made, setMade] = useState<RegisteredWebhook>();
  // If an answer is lost, a further click registers no second webhook.
  const key = useMemo(() => crypto.getRandomValues(new Uint32Array(4)).join('-'), [url, events]);
  const id = useId();
  if (made !== undefined) {
    return (
      <>
        <p>
          <a href={linkTo('webhooks', [made.id])}>{made.id}</a> is registered.
        </p>
        <Secret secret={made.secret} />
      </>
    );
  }
  return (
    <>
      <Whose />
      <p class="field">
        <label for={id}>Address</label>
        <input
          id={id}
          type="url"
          placeholder="https://example.com/hook"
          value={url}
          onInput={({ currentTarget }) => setUrl(currentTarget.value)}
        />
      </p>
      {isOfThisMachine(location.hostname) && (
        <p class="quiet">
          With <code>npm start</code> on this machine, a receiver on it is allowed too, by <code>http</code>{' '}
          and on any port: <code>http://127.0.0.1:9000/</code>.
        </p>
      )}
      <KindBoxes chosen={events} onChange={setEvents} />
      <Action<RegisteredWebhook>
        label="Register"
        kind="main"
        scope={webhooksWrite}
        request={{ ...post('/webhook-events', { url, events }), key }}
        fields={webhookFields}
        said={() => 'Registered.'}
        onDone={(webhook) => {
          setMade(webhook);
          onDone();
        }}
      />
    </>
  );
}
