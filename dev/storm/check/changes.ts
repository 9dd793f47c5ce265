// Endpoints that their customers changed: each event that surely occurred between two changes is delivered as the endpoint was
// then. An event is surely after a change if its push began after the answer, and before one if it stood on the stream.
import type { RegisteredWebhook, Webhook } from '@integration-sync/contracts';
import type { AskLine, DeliveryLine, EventLine } from '../lines.ts';
import { syncIdOf } from './events.ts';
import type { History } from './history.ts';
import { seconds } from './story.ts';
import { openDates } from './times.ts';
import type { Report } from './violations.ts';

interface Seen {
  asks: readonly AskLine[];
  hits: readonly DeliveryLine[];
  events: readonly EventLine[];
}

/** The endpoint from one change on. */
interface State {
  begunMs: number;
  endedMs: number;
  kinds: readonly string[];
  /** The paths of the endpoint so far. */
  paths: readonly string[];
  rotations: number;
  active: boolean;
  isThere: boolean;
}

const datesMs = 50;

export function checkChanges(
  { pushes, bySync }: History,
  { asks, hits, events }: Seen,
  report: Report,
): void {
  const toLedger = openDates(pushes);
  const hitsOf = Map.groupBy(hits, ({ endpoint, event }) => `${endpoint} ${event}`);
  for (const hit of hits) {
    if (!hit.genuine)
      report({ class: 'delivery-false', what: `${hit.endpoint}: ${hit.event} has a wrong signature` });
  }
  for (const [endpoint, own] of livesOf(asks, report)) {
    const states = statesOf(own);
    const replays = own.filter(({ path }) => path.endsWith('/replay'));
    const isDeleted = states.at(-1)?.isThere === false;
    for (const event of events) {
      const push = bySync.get(syncIdOf(event.id));
      const at = states.findLastIndex(({ endedMs }) => endedMs < (push?.begunMs ?? 0));
      const [state, next] = [states[at], states[at + 1]];
      if (state === undefined || event.body.integrationId !== own[0]?.integration) continue;
      if (toLedger(event.storedAt) + datesMs >= (next?.begunMs ?? Infinity)) continue;
      const replayedMs = replays.find(({ begunMs }) => begunMs > state.endedMs)?.begunMs ?? Infinity;
      const fault = faultOf(event.body.event, state, {
        hits: hitsOf.get(`${endpoint} ${event.id}`) ?? [],
        isDeleted,
        replayedMs,
      });
      if (fault === undefined) continue;
      const what = `${own[0].by} ${endpoint}: ${event.id}, pushed ${seconds((push?.begunMs ?? 0) - state.endedMs)} after a change was answered, ${fault}`;
      report({ class: 'change', what });
    }
  }
}

interface Came {
  hits: readonly DeliveryLine[];
  isDeleted: boolean;
  /** When the next replay began. */
  replayedMs: number;
}

function faultOf(kind: string, state: State, { hits, isDeleted, replayedMs }: Came): string | undefined {
  const isMeant = state.isThere && state.kinds.includes(kind);
  if (!isMeant && hits.length > 0)
    return `came, though the endpoint ${state.isThere ? 'does not want it' : 'is deleted'}`;
  if (!isMeant) return undefined;
  if (!state.active && hits.some(({ begunMs }) => begunMs < replayedMs)) return 'came to a disabled endpoint';
  const isTaken = hits.some(({ status }) => status >= 200 && status < 300);
  if (!isTaken && !isDeleted && (state.active || replayedMs < Infinity)) return 'never came';
  const former = new Set(state.paths.slice(0, -1));
  const toFormer = hits.find(({ path }) => former.has(path));
  if (toFormer !== undefined) return `came to the former url ${toFormer.path}`;
  return hits.some(({ signer }) => signer !== -1 && signer < state.rotations)
    ? 'was signed with a former secret'
    : undefined;
}

/** The requests about each endpoint, by its id. */
function livesOf(asks: readonly AskLine[], report: Report): Map<string, AskLine[]> {
  const lives = new Map<string, AskLine[]>();
  const keys = new Map<string, string>();
  for (const ask of asks.filter(({ by }) => by.startsWith('endpoint '))) {
    const { id, secret }: Partial<RegisteredWebhook> = Object(ask.answer);
    if (ask.path !== '/webhook-events') lives.get(ask.path.split('/')[2] ?? '')?.push(ask);
    else if (id !== undefined) {
      const { url }: Partial<Webhook> = Object(ask.sent);
      const first = keys.get(url ?? '');
      keys.set(url ?? '', `${id} ${secret}`);
      if (first !== undefined && first !== `${id} ${secret}`)
        report({
          class: 'registration',
          what: `one Idempotency-Key made ${first.split(' ')[0]} and ${id}, or two secrets`,
        });
      lives.set(id, [...(lives.get(id) ?? []), ask]);
    }
  }
  return lives;
}

const pathOf = (url: string): string => new URL(url).pathname;

function statesOf(asks: readonly AskLine[]): State[] {
  const states: State[] = [];
  for (const { method, path, sent, begunMs, endedMs } of asks) {
    const { url, events, active }: Partial<Webhook> = Object(sent);
    const before = states.at(-1) ?? { kinds: [], paths: [], rotations: 0, active: true, isThere: true };
    if (path.endsWith('/replay')) continue;
    states.push({
      begunMs,
      endedMs,
      kinds: events ?? before.kinds,
      // Three requests registered it.
      paths: url === undefined ? before.paths : [...new Set([...before.paths, pathOf(url)])],
      rotations: before.rotations + (path.endsWith('/rotate-secret') ? 1 : 0),
      active: active ?? before.active,
      isThere: method !== 'DELETE',
    });
  }
  return states;
}
