import { get } from '../api/request.ts';
import type { Listing, SyncRun } from '../api/shapes.ts';
import { Curl } from '../parts/curl.tsx';
import { Choice } from '../parts/filters.tsx';
import { Off } from '../parts/off.tsx';
import { useLacks } from '../state/use-lacks.ts';
import { ProblemLine } from '../parts/problem.tsx';
import { Pager, Table } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { linkTo, route, withQuery } from '../state/route.ts';
import { useStore } from '../store.ts';
import { useLoad } from '../state/use-load.ts';

export const runsScope = 'integration:syncs:read';

export function Runs() {
  const here = useStore(route);
  const { query } = here;
  const isOff = useLacks(runsScope);
  const { entityType, failed, client, cursor } = query;
  const request = get('/sync-runs', { entityType, failed, client, cursor, limit: 50 });
  const loaded = useLoad<Listing<SyncRun>>(isOff ? undefined : request, cursor === undefined);
  if (isOff) return <NoRuns />;
  return (
    <>
      <h1 tabIndex={-1}>Runs</h1>
      <div class="row filters">
        <Choice
          name="entityType"
          label="Kind"
          options={[
            ['', 'All'],
            ['supplier', 'Suppliers'],
            ['product', 'Products'],
            ['batch', 'Batches'],
          ]}
        />
        <Choice
          name="failed"
          label="Outcome"
          options={[
            ['', 'All'],
            ['true', 'With failures'],
          ]}
        />
        {client !== undefined && (
          <a href={withQuery(here, { client: undefined })}>Of {client} alone: show all</a>
        )}
        <Curl request={request} />
      </div>
      <ProblemLine of={loaded} />
      {loaded.answer?.body.entities.length === 0 && <p class="quiet">No push matches.</p>}
      {loaded.answer !== undefined && loaded.answer.body.entities.length > 0 && (
        <RunTable runs={loaded.answer.body.entities} label="Runs, newest first" />
      )}
      <Pager of={loaded} noun="run" />
    </>
  );
}

const NoRuns = () => (
  <>
    <h1 tabIndex={-1}>Runs</h1>
    <Off scope={runsScope} what="The history of pushes" />
  </>
);

export function RunTable({ runs, label }: { runs: readonly SyncRun[]; label: string }) {
  return (
    <Table label={label} heads={['Started', 'Kind', '#Failed', '#Created', '#Changed', '#Unchanged', 'Run']}>
      {runs.map((run) => (
        <tr key={run.syncId}>
          <td>
            <a href={linkTo('runs', [run.syncId])}>
              <Time at={run.startedAt} />
            </a>
          </td>
          <td>
            {run.entityType}
            {run.action !== 'push' && ` · ${run.action}`}
            {run.state === 'running' && ' · running'}
          </td>
          <td class={run.failed > 0 ? 'number bad' : 'number'}>{run.failed}</td>
          <td class="number">{run.created}</td>
          <td class="number">{run.updated - run.unchanged}</td>
          <td class="number">{run.unchanged}</td>
          <td>
            <a class="id" href={linkTo('runs', [run.syncId])}>
              {run.syncId}
            </a>
          </td>
        </tr>
      ))}
    </Table>
  );
}
