// Checks endpoints that customers change: an event that surely occurred between two changes is delivered by the settings of that
// time. An event is surely after a change if its push began after the change's answer, and before a change if it was stored before.
import type { RegisteredWebhook, Webhook } from '@integration-sync/contracts';
import type { AskLine, DeliveryLine } from '../lines.ts';
import { isTaken, nameOf, syncIdOf, type Check } from './facts.ts';
import { seconds } from './times.ts';
import type { Report } from './violations.ts';

const none: readonly string[] = [];
/** The endpoint before its first change. */
const untouched = {
  begunMs: 0,
  endedMs: 0,
  kinds: none,
  /** The paths of the endpoint so far. */
  paths: none,
  rotations: 0,
  active: true,
  isThere: true,
};
/** The state of the endpoint after a change. */
type State = typeof untouched;

const datesMs = 50;

export const checkChanges: Check = ({ bySync, toLedger, asks, hitsOf, events }, report) => {
  for (const [endpoint, own] of livesOf(asks, report)) {
    const states = statesOf(own);
    const replays = own.filter(({ path }) => path.endsWith('/replay'));
    const isDeleted = states.at(-1)?.isThere === false;
    for (const { id, body, storedAt } of events) {
      const begunMs = bySync.get(syncIdOf(id))?.begunMs ?? 0;
      const at = states.findLastIndex(({ endedMs }) => endedMs < begunMs);
      const [state, next] = [states[at], states[at + 1]];
      if (state === undefined || body.integrationId !== own[0]?.integration) continue;
      if (toLedger(storedAt) + datesMs >= (next?.begunMs ?? Infinity)) continue;
      const replayedMs = replays.find((replay) => replay.begunMs > state.endedMs)?.begunMs ?? Infinity;
      const came = hitsOf.get(nameOf({ endpoint, event: id })) ?? [];
      const fault = faultOf(body.event, state, { hits: came, isDeleted, replayedMs });
      if (fault === undefined) continue;
      const after = `pushed ${seconds(begunMs - state.endedMs)} after a change was answered`;
      report('change', `${own[0].by} ${endpoint}: ${id}, ${after}, ${fault}`);
    }
  }
};

/** `replayedMs`: when the next replay began. */
function faultOf(
  kind: string,
  state: State,
  { hits, isDeleted, replayedMs }: { hits: DeliveryLine[]; isDeleted: boolean; replayedMs: number },
): string | undefined {
  const isMeant = state.isThere && state.kinds.includes(kind);
  if (!isMeant && hits.length > 0)
    return `came, though the endpoint ${state.isThere ? 'does not want it' : 'is deleted'}`;
  if (!isMeant) return undefined;
  if (!state.active && hits.some(({ begunMs }) => begunMs < replayedMs)) return 'came to a disabled endpoint';
  if (!hits.some(isTaken) && !isDeleted && (state.active || replayedMs < Infinity)) return 'never came';
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
      const { url = '' }: Partial<Webhook> = Object(ask.sent);
      const [first, made] = [keys.get(url), `${id} ${secret}`];
      keys.set(url, made);
      if (first !== undefined && first !== made)
        report('registration', `one Idempotency-Key made ${first.split(' ')[0]} and ${id}, or two secrets`);
      lives.set(id, [...(lives.get(id) ?? []), ask]);
    }
  }
  return lives;
}

function statesOf(asks: readonly AskLine[]): State[] {
  const states: State[] = [];
  for (const { method, path, sent, begunMs, endedMs } of asks) {
    const { url, events: kinds, active }: Partial<Webhook> = Object(sent);
    const before = states.at(-1) ?? untouched;
    if (/\/(?:replay|drill)$/.test(path) || method === 'GET') continue;
    states.push({
      begunMs,
      endedMs,
      kinds: kinds ?? before.kinds,
      // Three requests registered the endpoint, each perhaps with another path.
      paths: url === undefined ? before.paths : [...new Set([...before.paths, new URL(url).pathname])],
      rotations: before.rotations + (path.endsWith('/rotate-secret') ? 1 : 0),
      active: active ?? before.active,
      isThere: method !== 'DELETE',
    });
  }
  return states;
}

/** A fault this long before a request may have made an attempt fail, so that the endpoint counts a failure. */
const failedBeforeMs = 60_000;

/** Receivers refuse the deliveries of drills. These failures must not count, and drills must be on no stream and in no log. */
export const checkDrills: Check = ({ asks, deliveries, eventById, isDeliveryStruck }, report) => {
  const ids = new Set(deliveries.filter(({ drill }) => drill).map(({ event }) => event));
  for (const id of ids) if (eventById.has(id)) report('drill', `${id} of a drill is on the stream`);
  for (const { path, begunMs, endedMs, answer } of asks.filter(({ by }) => by === 'endpoint 5')) {
    const {
      active,
      consecutiveFailures: failures,
      logged = [],
    }: Partial<Webhook> & { logged?: string[] } = Object(answer);
    const found = logged.find((id) => ids.has(id));
    if (found !== undefined) report('drill', `${path}: ${found} of a drill is in the attempt log`);
    if (failures === undefined || (active && failures === 0)) continue;
    if (isDeliveryStruck(begunMs - failedBeforeMs, endedMs)) continue;
    report('drill', `${path} is ${active ? 'active' : 'disabled'} with ${failures} failures after a drill`);
  }
};
