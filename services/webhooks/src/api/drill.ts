// A drill sends twelve deliveries, valid and forged (drill-checks.ts), to a receiver, and says which of them the receiver answers
// wrongly. No delivery of a drill counts for the endpoint's circuit and failures, and none is in the attempt log.
//
//   what the receiver does                 what the drill does
//   ─────────────────────────────────────  ──────────────────────────────────────────────────────────
//   does not answer the first delivery     does not send the other deliveries
//   answers slowly                         sends four deliveries at a time, and none after 20 s
//   resets, or exceeds a bound (sending/)  counts the check of this delivery as failed
import { type DrillCheck, type DrillResult, Failure, limits } from '@integration-sync/contracts';
import { refuseGivenUp, type BusHandler } from '@integration-sync/runtime/bus';
import { openSemaphore } from '@integration-sync/runtime/semaphore';
import type { EndpointCache } from '../endpoints/cache.ts';
import { type Endpoint, inFlightMaxOf } from '../endpoints/endpoint.ts';
import type { Endpoints } from '../endpoints/endpoint-store.ts';
import type { Attempted, Send } from '../sending/send.ts';
import { type Check, checksOf } from './drill-checks.ts';
import { endpointOf, json, refuseDisabled, runIfFree } from './handlers.ts';

/** At most 16 drills, of 30 s each, run at a time. One integration can run 9 drills; the rest is for other integrations. */
const drillLimits = { max: 16, share: { timesFree: 3, kept: 4 } };
const restMs = 60_000;
const drillMs = 30_000;
const inFlightMax = 4;

export type Drill = (endpoint: Endpoint) => Promise<DrillResult>;

export const openDrill =
  (cache: Pick<EndpointCache, 'prepare'>, send: Send, signal: AbortSignal): Drill =>
  async (endpoint) => {
    const known = cache.prepare(endpoint);
    const lastBeginsAt = performance.now() + drillMs - limits.deliveryDeadlineMs;
    const inTurn = openSemaphore({ max: Math.min(inFlightMax, inFlightMaxOf(endpoint)) }).run;
    const checks: DrillCheck[] = [];
    const carryOut = async (check: Check): Promise<DrillCheck> => {
      if (checks.length > 0 && checks.every(({ answered }) => answered === null))
        return notSent(check, 'the deliveries before had no answer');
      if (performance.now() > lastBeginsAt)
        return notSent(check, `a drill takes ${drillMs / 1_000} s at most, and the answers took long`);
      return judge(check, await send(known, { ...check.sending, attempt: 1, signal }));
    };
    const all = checksOf(endpoint, new Date());
    // The second delivery has the id of the first, so it is sent once the first is answered.
    for (const round of [all.slice(0, 1), all.slice(1, 2), all.slice(2)]) {
      const carriedOut = await Promise.allSettled(round.map((check) => inTurn(() => carryOut(check))));
      for (const one of carriedOut) {
        if (one.status === 'rejected') throw signal.aborted ? stopped() : one.reason;
        checks.push(one.value);
      }
    }
    return { passed: checks.every(({ passed }) => passed), checks };
  };

export function drilling({ endpoints, drill }: { endpoints: Endpoints; drill: Drill }): BusHandler {
  const semaphore = openSemaphore(drillLimits);
  return async (request) => {
    const endpoint = await endpointOf(endpoints, request);
    refuseDisabled(endpoint);
    await refuseGivenUp(request);
    return runIfFree(semaphore, request.integration, 'drills', async () => {
      const at = new Date();
      const before = new Date(at.getTime() - restMs);
      if (!(await endpoints.beginDrill(endpoint._id, at, before))) throw tooSoon(endpoint, at);
      const { passed, checks } = await drill(endpoint);
      const failedChecks = checks.filter((check) => !check.passed).length;
      return { ...json({ passed, checks }), logFields: { failedChecks } };
    });
  };
}

function judge({ name, expected, advice }: Check, attempted: Attempted): DrillCheck {
  const { verdict, responseStatus: answered, durationMs: tookMs } = attempted;
  const passed = expected === '2xx' ? verdict === 'succeeded' : isRefusal(answered);
  const why = passed ? '' : whyNotPassed(attempted);
  return { name, expected, answered, tookMs, passed, advice: passed ? null : `${why}${advice}` };
}

const tooMany = 429;

/** Whether a status refuses a delivery as forged. A 429 does not: a rate limit refuses valid deliveries too. */
const isRefusal = (status: number | null): boolean =>
  status !== null && status >= 400 && status < 500 && status !== tooMany;

function whyNotPassed({ responseStatus, error }: Attempted): string {
  if (responseStatus === tooMany) return 'An answer of 429 says nothing about the signature. ';
  const hasAnswered = responseStatus !== null && (error === null || responseStatus >= 300);
  return hasAnswered ? '' : `There was no complete answer: ${error}. `;
}

const notSent = ({ name, expected }: Check, why: string): DrillCheck => ({
  name,
  expected,
  answered: null,
  tookMs: 0,
  passed: false,
  advice: `Not sent: ${why}.`,
});

/** Refuses a drill within a minute of another drill, which may have begun after the endpoint was read. */
function tooSoon({ drilledAt }: Endpoint, at: Date): Failure {
  const restsMs = (drilledAt ?? at).getTime() + restMs - at.getTime();
  return new Failure('rate_limited', 'A drill of a webhook may begin once a minute.', {
    retryAfterSeconds: Math.max(1, Math.ceil(restsMs / 1_000)),
  });
}

const stopped = (): Failure =>
  new Failure('unavailable', 'The drill was cut off, because the service restarts.', {
    retryAfterSeconds: restMs / 1_000,
  });
