import { useEffect, useId, useState } from 'preact/hooks';
import { get, type Request } from '../api/request.ts';
import type { DetailedRecord, Listing } from '../api/shapes.ts';
import { Curl } from '../parts/curl.tsx';
import { Choice } from '../parts/filters.tsx';
import { Json } from '../parts/json.tsx';
import { Off } from '../parts/off.tsx';
import { useLacks } from '../state/use-lacks.ts';
import { ProblemLine } from '../parts/problem.tsx';
import { Pager, Table } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { lacks, session } from '../api/session.ts';
import { goTo, linkTo, route, withQuery, type Route } from '../state/route.ts';
import { useStore } from '../store.ts';
import { useLoad } from '../state/use-load.ts';
import { isNowhere } from '../text/nowhere.ts';
import { FailedPush } from './failed-push.tsx';
import { Statement, Statements, statementStatuses } from './statements.tsx';

const kinds = ['suppliers', 'products', 'batches'] as const;
type Kind = (typeof kinds)[number];
const singular = { suppliers: 'supplier', products: 'product', batches: 'batch' } as const;
/** How many requests a view may send by itself when it is opened. */
const requestsMax = 5;

const scopeOf = (kind: Kind): string => `integration:${kind}:read`;

const requestOf = (kind: Kind, { externalId, cursor }: Route['query']): Request =>
  get(`/${kind}`, { externalId, details: true, limit: 50, cursor });

/** Finds the records of all kinds that have one exact externalId, or lists one kind page by page. */
export function Records() {
  const { query } = useStore(route);
  const { externalId, run, status } = query;
  const [counts, setCounts] = useState<ReadonlyMap<string, number>>(new Map());
  const count = (path: string, one: number): void => setCounts((before) => new Map(before).set(path, one));
  const kind = kinds.find((one) => one === query['kind']);
  const shown = kind !== undefined ? [kind] : externalId === undefined ? (['suppliers'] as const) : kinds;
  const here = useStore(session);
  const found = shown.map((one) => ({
    isOff: lacks(here, scopeOf(one)),
    count: counts.get(requestOf(one, query).path),
  }));
  return (
    <>
      <h1 tabIndex={-1}>Records</h1>
      <div class="row filters">
        <Choice
          name="kind"
          label="Kind"
          options={[
            ['', externalId === undefined ? 'Suppliers' : 'All'],
            ...(externalId === undefined ? [] : [['suppliers', 'Suppliers'] as const]),
            ['products', 'Products'],
            ['batches', 'Batches'],
          ]}
        />
        {kind === 'batches' && externalId === undefined && (
          <Choice name="status" label="Statement" options={statementStatuses} />
        )}
        <ById key={externalId} />
      </div>
      {kind === 'batches' &&
      externalId === undefined &&
      status !== undefined &&
      !lacks(here, scopeOf(kind)) ? (
        <Statements status={status} />
      ) : (
        shown.map((one) => <OfKind key={one} kind={one} isOneOfAll={shown.length > 1} onCount={count} />)
      )}
      {externalId !== undefined && isNowhere(found) && (
        <FailedPush
          key={`${externalId} ${kind}`}
          externalId={externalId}
          entityType={kind && singular[kind]}
          run={run}
          requestsMax={requestsMax - shown.length}
        />
      )}
    </>
  );
}

function ById() {
  const here = useStore(route);
  const [text, setText] = useState(here.query['externalId'] ?? '');
  const id = useId();
  return (
    <form
      class="field"
      onSubmit={(event) => {
        event.preventDefault();
        goTo(withQuery(here, { externalId: text, run: undefined, status: undefined }));
      }}
    >
      <label for={id}>Exact externalId</label>
      <input
        id={id}
        type="search"
        autocomplete="off"
        spellcheck={false}
        value={text}
        onInput={({ currentTarget }) => setText(currentTarget.value)}
      />
      <button type="submit">Find</button>
    </form>
  );
}

interface OfKindProps {
  kind: Kind;
  isOneOfAll: boolean;
  /** Called with the number of records in the answer to the request of this path. */
  onCount: (path: string, count: number) => void;
}

function OfKind({ kind, isOneOfAll, onCount }: OfKindProps) {
  const { query } = useStore(route);
  const scope = scopeOf(kind);
  const isOff = useLacks(scope);
  const { externalId } = query;
  const request = requestOf(kind, query);
  const loaded = useLoad<Listing<DetailedRecord>>(isOff ? undefined : request);
  const entities = loaded.answer?.body.entities;
  useEffect(() => {
    if (entities !== undefined) onCount(request.path, entities.length);
  }, [loaded.answer]);
  const title = `${kind.charAt(0).toUpperCase()}${kind.slice(1)}`;
  if (isOff) return <Off scope={scope} what={title} />;
  return (
    <section aria-label={title}>
      <div class="row">
        {isOneOfAll && <h2>{title}</h2>}
        <Curl request={request} />
      </div>
      <ProblemLine of={loaded} />
      {entities?.length === 0 && (
        <p class="quiet">
          {externalId === undefined ? `There are no ${kind} yet.` : `None of the ${kind} has this id.`}
        </p>
      )}
      {externalId !== undefined
        ? entities?.map((record) => <Whole key={record.internalId} kind={kind} record={record} />)
        : entities !== undefined && entities.length > 0 && <Rows kind={kind} records={entities} />}
      {!isOneOfAll && <Pager of={loaded} noun={singular[kind]} nouns={kind} />}
    </section>
  );
}

function Rows({ kind, records }: { kind: Kind; records: readonly DetailedRecord[] }) {
  return (
    <Table label={`All ${kind}`} heads={['externalId', 'Name', 'Status', 'Last synced', 'Changed by']}>
      {records.map(({ externalId, internalId, name, syncStatus, lastSyncedAt, details }) => (
        <tr key={internalId}>
          <td class="id">
            {externalId === '' ? (
              <span class="quiet">erased</span>
            ) : (
              <a href={linkTo('records', [], { kind, externalId })}>
                <bdi>{externalId}</bdi>
              </a>
            )}
          </td>
          <td class="words">
            <bdi>{name}</bdi>
          </td>
          <td>
            <Status status={syncStatus} />
          </td>
          <td>
            <Time at={lastSyncedAt} />
          </td>
          <td>{details !== undefined && <RunLink id={details.changedBy} />}</td>
        </tr>
      ))}
    </Table>
  );
}

const Status = ({ status }: { status: string }) => (
  <span class={`pill ${status === 'SYNCED' ? 'well' : ''}`}>{status}</span>
);

/** One record with its fields, its runs and its status. */
function Whole({ kind, record }: { kind: Kind; record: DetailedRecord }) {
  const { name, syncStatus, lastSyncedAt, internalId, externalId, details } = record;
  return (
    <article class="card" aria-label={`The record ${externalId}`}>
      <p class="row">
        <strong>
          <bdi>{name}</bdi>
        </strong>
        <Status status={syncStatus} />
      </p>
      <dl class="facts">
        <dt>externalId</dt>
        <dd class="id">
          <bdi>{externalId}</bdi>
        </dd>
        <dt>internalId</dt>
        <dd class="id">{internalId}</dd>
        <dt>Last synced</dt>
        <dd>
          <Time at={lastSyncedAt} full />
        </dd>
        {details !== undefined && (
          <>
            <dt>Created by</dt>
            <dd>
              <RunLink id={details.createdBy} />
            </dd>
            <dt>Changed by</dt>
            <dd>
              <RunLink id={details.changedBy} />{' '}
              {details.changedAt !== undefined && <Time at={details.changedAt} full />}
            </dd>
          </>
        )}
      </dl>
      {kind === 'batches' && <Statement batch={externalId} />}
      {details !== undefined && <Json value={details.fields} label={`What ${name} holds`} />}
    </article>
  );
}

const RunLink = ({ id }: { id: string }) => (
  <a class="id" href={linkTo('runs', [id])}>
    {id}
  </a>
);
