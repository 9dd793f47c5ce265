// The due-diligence statements of batches: the one of a batch, and the listing by status.
import { get } from '../api/request.ts';
import type { DdsEntry, Listing } from '../api/shapes.ts';
import { Curl } from '../parts/curl.tsx';
import { ProblemLine } from '../parts/problem.tsx';
import { Pager, Table } from '../parts/table.tsx';
import { linkTo, route } from '../state/route.ts';
import { useStore } from '../store.ts';
import { useLoad } from '../state/use-load.ts';

export const statementStatuses = [
  ['', 'Any'],
  ['DRAFT', 'Statement: draft'],
  ['REFERENCED', 'Statement: referenced'],
] as const;

const Status = ({ status }: Pick<DdsEntry, 'status'>) => (
  <span class={`pill ${status === 'REFERENCED' ? 'well' : ''}`}>{status}</span>
);

/** Batches by the status of their statements, page by page. */
export function Statements({ status }: { status: string }) {
  const { query } = useStore(route);
  const request = get('/dds', { status, cursor: query['cursor'], limit: 50 });
  const loaded = useLoad<Listing<DdsEntry>>(request);
  const entities = loaded.answer?.body.entities;
  return (
    <section aria-label="Statements">
      <Curl request={request} />
      <ProblemLine of={loaded} />
      {entities?.length === 0 && <p class="quiet">No statement has this status.</p>}
      {entities !== undefined && entities.length > 0 && (
        <Table
          label="Statements"
          heads={['Batch', 'Status', 'Reference number', 'Verification number', 'Missing']}
        >
          {entities.map((entry) => (
            <tr key={entry.ddsId}>
              <td class="id">
                <a href={linkTo('records', [], { kind: 'batches', externalId: entry.batchExternalId })}>
                  <bdi>{entry.batchExternalId}</bdi>
                </a>
              </td>
              <td>
                <Status status={entry.status} />
              </td>
              <td class="id">
                <bdi>{entry.referenceNumber}</bdi>
              </td>
              <td class="id">
                <bdi>{entry.verificationNumber}</bdi>
              </td>
              <td>{entry.missing.join(', ')}</td>
            </tr>
          ))}
        </Table>
      )}
      <Pager of={loaded} noun="statement" />
    </section>
  );
}

/** The statement of a batch, if it has one. */
export function Statement({ batch }: { batch: string }) {
  const loaded = useLoad<Listing<DdsEntry>>(get('/dds', { batchExternalId: batch }));
  const [entry] = loaded.answer?.body.entities ?? [];
  return (
    <>
      <ProblemLine of={loaded} />
      {entry !== undefined && (
        <dl class="facts" aria-label="Due-diligence statement">
          <dt>Statement</dt>
          <dd>
            <Status status={entry.status} />
          </dd>
          <dt>Reference number</dt>
          <dd class="id">
            <bdi>{entry.referenceNumber ?? '–'}</bdi>
          </dd>
          <dt>Verification number</dt>
          <dd class="id">
            <bdi>{entry.verificationNumber ?? '–'}</bdi>
          </dd>
          {entry.missing.length > 0 && (
            <>
              <dt>Missing</dt>
              <dd>{entry.missing.join(', ')}</dd>
            </>
          )}
        </dl>
      )}
    </>
  );
}
