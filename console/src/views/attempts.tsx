// The attempts of one webhook: a strip of the last hundred, over a table that can be filtered.
import { useEffect, useState } from 'preact/hooks';
import { get, type Request } from '../api/request.ts';
import type { DeliveryAttempt, Listing } from '../api/shapes.ts';
import { Curl } from '../parts/curl.tsx';
import { Choice } from '../parts/filters.tsx';
import { Bars, Legend, type Bar } from '../parts/plots.tsx';
import { ProblemLine } from '../parts/problem.tsx';
import { Pager, Table } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { linkTo, route } from '../state/route.ts';
import { useStore } from '../store.ts';
import { useAbouts } from '../state/use-abouts.ts';
import { useLoad, type Loaded } from '../state/use-load.ts';
import { useUndelivered } from '../state/use-undelivered.ts';
import { counted } from '../text/count.ts';
import { durationOf, shortTime } from '../text/time.ts';
import { endOf } from '../text/undelivered.ts';

type Log = Loaded<Listing<DeliveryAttempt>>;

const rowsAtFirst = 20;
const slots = 100;
const slowestMs = 10_000;
/** An outcome to filter by that is no filter of the API: the page finds these attempts itself. */
const never = 'never';

interface AttemptsProps {
  id: string;
  log: Log;
  kinds: readonly string[];
  /** A number that changes after a click such as "Send a test", so that the table loads again and shows the attempt. */
  turn: number;
}

export function Attempts({ id, log, kinds, turn }: AttemptsProps) {
  const { request, of, attempts, undelivered } = useShown(id, log, turn);
  const [isWhole, showWhole] = useState(false);
  const rows = isWhole ? attempts : attempts?.slice(0, rowsAtFirst);
  const abouts = useAbouts(attempts?.map(({ eventId }) => eventId) ?? [], kinds, request.path);
  return (
    <section aria-labelledby="attempts">
      <h2 id="attempts">Attempts</h2>
      {log.answer !== undefined && <Strip id={id} attempts={log.answer.body.entities} />}
      <Filters kinds={kinds} request={request} />
      <ProblemLine of={undelivered ?? of} />
      {rows !== undefined && <AttemptTable id={id} attempts={rows} abouts={abouts} />}
      {!isWhole && attempts !== undefined && attempts.length > rowsAtFirst && (
        <p>
          <button type="button" onClick={() => showWhole(true)}>
            Show {attempts.length - rowsAtFirst} more
          </button>
        </p>
      )}
      {undelivered === undefined ? (
        <Pager of={of} noun="attempt" />
      ) : (
        undelivered.answer !== undefined && <WhatNever from={undelivered.answer.from} />
      )}
    </section>
  );
}

/** The page of the attempt log that the filters select; without filters, the page that the strip shows. */
function useShown(id: string, log: Log, turn: number) {
  const { query } = useStore(route);
  const { outcome, event, cursor } = query;
  const path = `/webhook-events/${encodeURIComponent(id)}`;
  const isNever = outcome === never;
  const isNarrowed = [outcome, event, cursor].some((one) => one !== undefined);
  const request = get(`${path}/deliveries`, {
    outcome: isNever ? 'failed' : outcome,
    event,
    cursor,
    limit: slots,
  });
  const narrowed = useLoad<Listing<DeliveryAttempt>>(isNarrowed && !isNever ? request : undefined);
  const undelivered = useUndelivered(isNever ? path : undefined, true);
  useEffect(() => {
    if (turn === 0) return;
    undelivered.reload();
    narrowed.reload();
  }, [turn]);
  const of = isNarrowed ? narrowed : log;
  const attempts = isNever
    ? undelivered.answer?.attempts.filter((one) => event === undefined || one.event === event)
    : of.answer?.body.entities;
  return { request, of, attempts, undelivered: isNever ? undelivered : undefined };
}

const Filters = ({ kinds, request }: { kinds: readonly string[]; request: Request }) => (
  <div class="row filters">
    <Choice
      name="outcome"
      label="Outcome"
      options={[
        ['', 'All'],
        ['failed', 'Failed'],
        ['succeeded', 'Succeeded'],
        [never, 'Never delivered'],
      ]}
    />
    <Choice
      name="event"
      label="Event"
      options={[['', 'All'], ...kinds.map((kind) => [kind, kind] as const)]}
    />
    <Curl request={request} />
  </div>
);

const WhatNever = ({ from }: { from: string | undefined }) => (
  <p class="quiet">
    The last attempt of each event that was never delivered
    {from !== undefined && (
      <>
        , since <Time at={from} />
      </>
    )}
    .
  </p>
);

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
      <Bars
        label={`The last ${counted(attempts.length, 'attempt')}: ${failed} failed.`}
        bars={bars}
        slots={slots}
      />
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

/** The height of a bar on a logarithmic scale: 1 ms gives a tenth of the plot, 10 s fill it. */
const heightOf = (ms: number): number =>
  Math.min(1, 0.1 + (0.9 * Math.log10(Math.max(ms, 1))) / Math.log10(slowestMs));

interface AttemptTableProps {
  id: string;
  attempts: readonly DeliveryAttempt[];
  /** What each event is about, as far as the page knows it. */
  abouts: ReadonlyMap<string, string>;
}

function AttemptTable({ id, attempts, abouts }: AttemptTableProps) {
  if (attempts.length === 0) return <p class="quiet">No attempt matches.</p>;
  return (
    <Table label="Attempts, newest first" heads={['At', 'Event', '#Attempt', 'Answer', '#Took', 'Next']}>
      {attempts.map((one) => {
        const { eventId, event, attempt, at, outcome, responseStatus, durationMs, error, nextAttemptAt } =
          one;
        const about = abouts.get(eventId) ?? '';
        return (
          <tr key={`${eventId} ${attempt} ${at}`}>
            <td>
              <Time at={at} />
            </td>
            <td>
              <a href={linkTo('webhooks', [id, eventId])}>{event}</a>
              {about !== '' && <bdi class="about">{about}</bdi>}
            </td>
            <td class="number">{attempt}</td>
            <td class={outcome === 'failed' ? 'words bad' : 'words'}>
              {responseStatus ?? 'none'}
              {error !== null && <span class="quiet"> {error}</span>}
            </td>
            <td class="number">{durationOf(durationMs)}</td>
            <td>{nextAttemptAt === null ? endOf(one) : <Time at={nextAttemptAt} />}</td>
          </tr>
        );
      })}
    </Table>
  );
}
