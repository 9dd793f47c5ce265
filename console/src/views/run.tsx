import { useEffect } from 'preact/hooks';
import { get } from '../api/request.ts';
import type { SyncRunInFull } from '../api/shapes.ts';
import { Curl } from '../parts/curl.tsx';
import { Off } from '../parts/off.tsx';
import { useLacks } from '../state/use-lacks.ts';
import { ProblemLine } from '../parts/problem.tsx';
import { Table } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { linkTo } from '../state/route.ts';
import { saveFile } from '../state/save-file.ts';
import { readOne } from '../state/steps.ts';
import { useLoad } from '../state/use-load.ts';
import { csvOf } from '../text/csv.ts';
import { placeOf } from '../text/place.ts';
import { groupByReason } from '../text/reasons.ts';
import { runsScope } from './runs.tsx';

const whileRunningMs = 2_000;
const records = { supplier: 'suppliers', product: 'products', batch: 'batches' } as const;

export function Run({ id }: { id: string }) {
  const isOff = useLacks(runsScope);
  const request = get(`/sync-runs/${encodeURIComponent(id)}`);
  const loaded = useLoad<SyncRunInFull>(isOff ? undefined : request);
  const run = loaded.answer?.body;
  const isRunning = run?.state === 'running';
  const hasFailed = run !== undefined && run.failed > 0;
  useEffect(() => {
    if (!isRunning) return undefined;
    const timer = window.setTimeout(loaded.reload, whileRunningMs);
    return () => window.clearTimeout(timer);
  }, [isRunning, loaded.at]);
  useEffect(() => {
    if (hasFailed) readOne();
  }, [hasFailed]);
  return (
    <>
      <p class="crumbs">
        <a href={linkTo('runs')}>Runs</a>
      </p>
      <h1 tabIndex={-1} class="id">
        {id}
      </h1>
      {isOff && <Off scope={runsScope} what="A run" />}
      <ProblemLine of={loaded} />
      {run !== undefined && <Facts run={run} />}
      <Curl request={request} />
      {run !== undefined && run.failed > 0 && <Errors run={run} />}
    </>
  );
}

function Facts({ run }: { run: SyncRunInFull }) {
  const changed = run.updated - run.unchanged;
  return (
    <>
      <p>
        {run.action === 'push' ? 'A push' : `To ${run.action}`} of {records[run.entityType]}, begun{' '}
        <Time at={run.startedAt} full />
        {run.completedAt === null
          ? ', still running'
          : `, ${Date.parse(run.completedAt) - Date.parse(run.startedAt)} ms long`}
        {typeof run.client === 'string' && (
          <>
            , by <a href={linkTo('runs', [], { client: run.client })}>{run.client}</a>
          </>
        )}
        .
      </p>
      <dl class="figures">
        <Figure words="created" count={run.created} kind="created" />
        <Figure words="changed" count={changed} kind="changed" />
        <Figure words="unchanged" count={run.unchanged} kind="unchanged" />
        <Figure words="failed" count={run.failed} kind="failed" />
      </dl>
    </>
  );
}

const Figure = ({ words, count, kind }: { words: string; count: number; kind: string }) => (
  <div>
    <dt>
      <span class={`swatch ${kind}`} aria-hidden="true" />
      {words}
    </dt>
    <dd>{count.toLocaleString('en')}</dd>
  </div>
);

function Errors({ run }: { run: SyncRunInFull }) {
  const { errors, failed, errorsOmitted, syncId, entityType } = run;
  const download = (): void => {
    const rows = errors.map(({ index, externalId, error }) => [index + 1, index, externalId, error] as const);
    const csv = csvOf([['item', 'index', 'externalId', 'error'], ...rows]);
    saveFile(`${syncId}-errors.csv`, new Blob([csv], { type: 'text/csv;charset=utf-8' }));
  };
  return (
    <section aria-labelledby="errors">
      <div class="row">
        <h2 id="errors">Why they failed</h2>
        <span class="quiet">
          {errors.length} of {failed.toLocaleString('en')}
          {errorsOmitted > 0 && (errors.length === 1 ? ' is kept' : ' are kept')}
        </span>
        <button type="button" onClick={download}>
          Save as CSV
        </button>
      </div>
      {groupByReason(errors).map(({ reason, errors: group }) => (
        <details key={reason} class="reason" open>
          <summary>
            <strong>{group.length} ×</strong> {group.length === 1 ? group[0]?.error : reason}
          </summary>
          <Table label={`Items that failed: ${reason}`} heads={['Item', 'externalId', 'Error']}>
            {group.map(({ index, externalId, error }) => (
              <tr key={index}>
                <td>{placeOf(index)}</td>
                <td>
                  {externalId === '' ? (
                    <span class="quiet">none</span>
                  ) : (
                    <a
                      class="id"
                      href={linkTo('records', [], { kind: records[entityType], externalId, run: syncId })}
                    >
                      {externalId}
                    </a>
                  )}
                </td>
                <td class="words">{error}</td>
              </tr>
            ))}
          </Table>
        </details>
      ))}
    </section>
  );
}
