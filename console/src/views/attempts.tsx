// The attempts of one webhook: a strip of the last hundred, over a table that can be filtered.
import { useState } from 'preact/hooks';
import { get } from '../api/request.ts';
import type { DeliveryAttempt, Listing } from '../api/shapes.ts';
import { Curl } from '../parts/curl.tsx';
import { Choice } from '../parts/filters.tsx';
import { Bars, Legend, type Bar } from '../parts/plots.tsx';
import { ProblemLine } from '../parts/problem.tsx';
import { Pager, Table } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { linkTo, route } from '../state/route.ts';
import { useStore } from '../state/store.ts';
import { useLoad, type Loaded } from '../state/use-load.ts';
import { durationOf, shortTime } from '../text/time.ts';

type Log = Loaded<Listing<DeliveryAttempt>>;

const rowsAtFirst = 20;
const slots = 100;
const slowestMs = 10_000;

export function Attempts({ id, log, kinds }: { id: string; log: Log; kinds: readonly string[] }) {
  const { query } = useStore(route);
  const { outcome, event, cursor } = query;
  const isNarrowed = [outcome, event, cursor].some((one) => one !== undefined);
  const request = get(`/webhook-events/${encodeURIComponent(id)}/deliveries`, {
    outcome,
    event,
    cursor,
    limit: slots,
  });
  const narrowed = useLoad<Listing<DeliveryAttempt>>(isNarrowed ? request : undefined);
  const shown = isNarrowed ? narrowed : log;
  const [isWhole, showWhole] = useState(false);
  const attempts = shown.answer?.body.entities ?? [];
  return (
    <section aria-labelledby="attempts">
      <h2 id="attempts">Attempts</h2>
      {log.answer !== undefined && <Strip id={id} attempts={log.answer.body.entities} />}
      <div class="row filters">
        <Choice
          name="outcome"
          label="Outcome"
          options={[
            ['', 'All'],
            ['failed', 'Failed'],
            ['succeeded', 'Succeeded'],
          ]}
        />
        <Choice
          name="event"
          label="Event"
          options={[['', 'All'], ...kinds.map((kind) => [kind, kind] as const)]}
        />
        <Curl request={request} />
      </div>
      <ProblemLine of={shown} />
      {shown.answer !== undefined && (
        <AttemptTable id={id} attempts={isWhole ? attempts : attempts.slice(0, rowsAtFirst)} />
      )}
      {!isWhole && attempts.length > rowsAtFirst && (
        <p>
          <button type="button" onClick={() => showWhole(true)}>
            Show {attempts.length - rowsAtFirst} more
          </button>
        </p>
      )}
      <Pager of={shown} noun="attempts" />
    </section>
  );
}

function Strip({ id, attempts }: { id: string; attempts: readonly DeliveryAttempt[] }) {
  if (attempts.length === 0) return <p class="quiet">Nothing has been sent yet.</p>;
  const failed = attempts.filter(({ outcome }) => outcome === 'failed').length;
  const bars = attempts.toReversed().map((attempt): Bar => ({
    key: `${attempt.eventId} ${attempt.attempt} ${attempt.at}`,
    title: `${shortTime(new Date(attempt.at))} ${attempt.event}: ${attempt.responseStatus ?? attempt.error ?? ''} after ${durationOf(attempt.durationMs)}`,
    parts: [{ kind: attempt.outcome, share: heightOf(attempt.durationMs) }],
    href: linkTo('webhooks', [id, attempt.eventId]),
  }));
  return (
    <figure class="strip">
      <Bars label={`The last ${attempts.length} attempts: ${failed} failed.`} bars={bars} slots={slots} />
      <figcaption class="row">
        <Legend
          kinds={[
            ['succeeded', 'succeeded'],
            ['failed', 'failed'],
          ]}
        />
        <span class="quiet">the higher, the longer; ten seconds fill it</span>
      </figcaption>
    </figure>
  );
}

/** 1 ms is low and 10 s fills the plot, each tenfold the same step. */
const heightOf = (ms: number): number =>
  Math.min(1, 0.1 + (0.9 * Math.log10(Math.max(ms, 1))) / Math.log10(slowestMs));

function AttemptTable({ id, attempts }: { id: string; attempts: readonly DeliveryAttempt[] }) {
  if (attempts.length === 0) return <p class="quiet">No attempt matches.</p>;
  return (
    <Table label="Attempts, newest first" heads={['At', 'Event', '#Attempt', 'Answer', '#Took', 'Next']}>
      {attempts.map(
        ({ eventId, event, attempt, at, outcome, responseStatus, durationMs, error, nextAttemptAt }) => (
          <tr key={`${eventId} ${attempt} ${at}`}>
            <td>
              <Time at={at} />
            </td>
            <td>
              <a href={linkTo('webhooks', [id, eventId])}>{event}</a>
            </td>
            <td class="number">{attempt}</td>
            <td class={outcome === 'failed' ? 'words bad' : 'words'}>
              {responseStatus ?? 'none'}
              {error !== null && <span class="quiet"> {error}</span>}
            </td>
            <td class="number">{durationOf(durationMs)}</td>
            <td>{nextAttemptAt === null ? '' : <Time at={nextAttemptAt} />}</td>
          </tr>
        ),
      )}
    </Table>
  );
}
