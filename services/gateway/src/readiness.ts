// Readiness: whether the gateway, NATS and the services with their engines can serve.
import { setTimeout as wait } from 'node:timers/promises';
import {
  Failure,
  healthSubject,
  notesSubject,
  type FailureEntry,
  type ServiceName,
} from '@integration-sync/contracts';
import type { Upstream } from './upstream.ts';

const servicesBehind: readonly ServiceName[] = ['catalog', 'batches', 'webhooks'];
const answerWithinMs = 2_000;
const askAgainMs = 500;
/** How long the gateway waits for notes, which replicas have in memory. The next check asks slower replicas again. */
const notesWithinMs = 150;
const notesMax = 20;
/** How long an answer of `/readyz` is repeated without a new check: anybody may call `/readyz` as often as they like. */
const answerRememberedMs = 1_000;
/**
 * After this share of the time in which an answer is repeated, a call begins a new check, but still gets the old answer.
 * Otherwise thousands of pipelined requests could wait for one check, and would all be answered in one turn of the event loop.
 */
const renewedAfterShare = 0.5;

/** Throws `Failure` unavailable with one entry for each service or engine that is away. */
export type CheckReadiness = ReturnType<typeof openReadiness>;

export function openReadiness(
  upstream: Upstream,
  isStopping: () => boolean,
  ownNotes: () => readonly string[],
  rememberedMs = answerRememberedMs,
) {
  let answer: ReturnType<typeof askAll> | undefined;
  let asking: typeof answer;
  let answeredAt = -Infinity;
  const ask = (): ReturnType<typeof askAll> => {
    const asked = askAll(upstream, ownNotes).finally(() => {
      [answer, asking, answeredAt] = [asked, undefined, performance.now()];
    });
    // No caller may await this check while the old answer is repeated: a rejection of the check must not end the process.
    asked.catch(() => undefined);
    return asked;
  };

  return () => {
    if (isStopping()) throw notReady([{ pointer: 'gateway', detail: 'The gateway is stopping.' }]);
    if (!upstream.connected) throw notReady([{ pointer: 'nats', detail: 'The message bus is away.' }]);
    const ageMs = performance.now() - answeredAt;
    if (answer !== undefined && ageMs < rememberedMs * renewedAfterShare) return answer;
    asking ??= ask();
    return answer !== undefined && ageMs < rememberedMs ? answer : asking;
  };
}

/**
 * Calls `served` once any service has answered, ready or not, and `hasKeys` is true: the gateway then reaches a service, gets
 * answers, and can check tokens. It does not wait for all services, because a gateway must start while webhooks is away.
 */
export function whenAnswered(upstream: Upstream, hasKeys: () => boolean, served: () => void): Disposable {
  const ending = new AbortController();
  const answers = (service: ServiceName): Promise<boolean> =>
    upstream.request(healthSubject(service), { timeoutMs: answerWithinMs, repeatable: true }).then(
      () => true,
      // A failure that a service has sent has no cause; a failure to reach the service has a cause.
      (error: unknown) => error instanceof Failure && error.cause === undefined && upstream.connected,
    );
  // A replica that is still starting sends notes, and answers no other request.
  const isHeard = async (service: ServiceName): Promise<boolean> =>
    (await answers(service)) || (await notesOf(service, upstream)).length > 0;
  const hasAnswer = async (): Promise<boolean> => {
    for (const service of servicesBehind.toReversed()) if (await isHeard(service)) return true;
    return false;
  };
  const look = async (): Promise<void> => {
    while (!hasKeys() || !(await hasAnswer())) await wait(askAgainMs, undefined, { signal: ending.signal });
    if (!ending.signal.aborted) served();
  };
  look().catch(() => undefined); // The gateway stops.
  return { [Symbol.dispose]: () => ending.abort() };
}

async function askAll(upstream: Upstream, ownNotes: () => readonly string[]) {
  const [away, heard] = await Promise.all([
    Promise.all(servicesBehind.map((service) => findFault(service, upstream))),
    Promise.all(servicesBehind.map((service) => notesOf(service, upstream))),
  ]);
  const faults = away.filter((fault) => fault !== undefined);
  if (faults.length > 0) throw notReady(faults.map((fault) => withNotes(fault, heard.flat())));
  const own = ownNotes().map((detail) => ({ pointer: 'gateway', detail }));
  const notes = [...own, ...heard.flat()].slice(0, notesMax);
  return {
    status: 'ready',
    services: Object.fromEntries(servicesBehind.map((service) => [service, 'ok'])),
    ...(notes.length === 0 ? {} : { notes }),
  };
}

/** If no replica of a service answers, adds notes of its starting replicas, which say what they wait for. */
function withNotes({ pointer, detail }: FailureEntry, heard: readonly FailureEntry[]): FailureEntry {
  const notes = heard.filter((note) => note.pointer === pointer).map((note) => note.detail);
  return { pointer, detail: [detail, ...notes].join(' ') };
}

const otherDatabases =
  'Replicas use different databases, so that a request finds other records at one of them: compare their MONGODB_URL and MONGODB_DATABASE.';

async function notesOf(service: ServiceName, upstream: Upstream): Promise<FailureEntry[]> {
  const told = (await upstream.askAll(notesSubject(service), notesWithinMs)).flatMap(readNotes);
  const details = new Set(told.filter((one) => typeof one === 'string'));
  const databases = new Set(told.map((one) => (typeof one === 'string' ? undefined : one.database)));
  databases.delete(undefined);
  if (databases.size > 1) details.add(otherDatabases);
  return Array.from(details, (detail) => ({ pointer: service, detail }));
}

/** A note of a replica: a sentence, or the identity of its database. Replicas of release 1.1.0 send only sentences. */
type Told = string | { database?: unknown };

function readNotes(answer: Uint8Array): Told[] {
  try {
    const told: unknown = JSON.parse(Buffer.from(answer).toString());
    return Array.isArray(told) ? told.filter((one) => one !== null) : [];
  } catch {
    // nats-server answers with an empty message if no replica listens (no responders).
    return [];
  }
}

async function findFault(service: ServiceName, upstream: Upstream): Promise<FailureEntry | undefined> {
  try {
    await upstream.request(healthSubject(service), { timeoutMs: answerWithinMs, repeatable: true });
    return undefined;
  } catch (error) {
    // A `Failure` says whether MongoDB or NATS is away; other errors are not shown.
    const detail = error instanceof Failure ? faultOf(error) : 'The service cannot be asked.';
    return { pointer: service, detail };
  }
}

const faultOf = ({ code, detail }: Failure): string =>
  code === 'timeout' ? `The service does not answer within ${answerWithinMs / 1_000} s.` : detail;

function notReady(errors: FailureEntry[]): Failure {
  const away = errors.map(({ pointer, detail }) => `${pointer}: ${detail}`).join(' ');
  return new Failure('unavailable', `Not ready. ${away}`, { errors });
}
