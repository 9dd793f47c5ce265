import { Table } from '../../parts/table.tsx';
import { counted } from '../../text/count.ts';
import { spanOf } from '../../text/time.ts';
import { linkTo } from '../../state/route.ts';
import { tell } from '../page-desk.ts';
import type { Counts, Run } from '../protocol.ts';

const number = (count: number): string => count.toLocaleString('en');

/** What a check has found, or how far a load is and what became of its rows. */
export function Outcome({ run }: { run: Run }) {
  const { isPlan, state, files, problem, waiting, reasons } = run;
  const isUnderWay = state === 'under way' || state === 'stopping';
  const verb = isPlan ? 'would be ' : '';
  return (
    <section class="card" aria-labelledby="outcome">
      <div class="row">
        <h2 id="outcome" tabIndex={-1}>
          {isPlan ? 'What a load would do' : 'The load'}
        </h2>
        {isUnderWay && (
          <button type="button" onClick={() => tell({ do: 'stop' })}>
            Stop
          </button>
        )}
      </div>
      {run.total !== undefined && (
        <progress max={Math.max(run.total, 1)} value={run.rows} aria-label="Rows that have their outcome" />
      )}
      {/* A screen reader does not read out the progress four times a second. */}
      <p role="status" aria-live={state === 'under way' ? 'off' : 'polite'}>
        {stateOf(run)}
      </p>
      {waiting !== undefined && isUnderWay && <p class="problem">{waiting}</p>}
      {problem !== undefined && (
        <p class="problem lines" role="alert">
          {problem}
        </p>
      )}
      <Table
        label={isPlan ? 'What would become of the rows' : 'What became of the rows'}
        heads={['File', `#${verb}created`, `#${verb}updated`, '#unchanged', '#rejected', 'To repair']}
      >
        {files.map(({ file, place, counts, rejects }) => (
          <tr key={file}>
            <td class="words">
              <bdi>{place}</bdi>
            </td>
            <td class="number">{number(counts.created)}</td>
            <td class="number">{number(counts.updated)}</td>
            <td class="number">{number(counts.unchanged + counts.sentAgain)}</td>
            <td class="number">{number(counts.rejected)}</td>
            <td>
              {isPlan && counts.rejected > 0 && <span class="quiet">a file, after a load</span>}
              {rejects !== undefined && !isUnderWay && (
                <button
                  type="button"
                  class="small"
                  onClick={() => tell({ do: 'save', what: 'rejects', file })}
                >
                  Save its rejected rows
                </button>
              )}
            </td>
          </tr>
        ))}
      </Table>
      {reasons.length > 0 && <Why reasons={reasons} />}
      {!isPlan && !isUnderWay && <Repair files={files} />}
      {!isPlan && state === 'finished' && <Stored files={files} />}
      {!isPlan && !isUnderWay && (
        <button type="button" onClick={() => tell({ do: 'save', what: 'results', file: '' })}>
          Save the results, with internalId
        </button>
      )}
    </section>
  );
}

function Repair({ files }: Pick<Run, 'files'>) {
  const names = files.flatMap(({ rejects }) => rejects ?? []);
  if (names.length === 0) return null;
  return (
    <p>
      <em>Save its rejected rows</em> saves <bdi>{names.join(', ')}</bdi>. Its column <code>#reason</code>{' '}
      says what is wrong. Correct the file, and drop it here.
    </p>
  );
}

/** Links to the records of each kind of this load. */
const Stored = ({ files }: Pick<Run, 'files'>) => (
  <p class="row">
    {[...new Set(files.map(({ kind }) => kind))].map((kind) => (
      <a key={kind} href={linkTo('records', [], { kind })}>
        See the {kind} in Records
      </a>
    ))}
  </p>
);

const Why = ({ reasons }: Pick<Run, 'reasons'>) => (
  <Table label="Why rows are rejected" heads={['#Rows', 'Why', 'Which']}>
    {reasons.map(({ place, reason, count, rows }) => (
      <tr key={`${place} ${reason}`}>
        <td class="number">{number(count)}</td>
        <td class="words">{reason}</td>
        <td class="words">
          <bdi>{place}</bdi>: {rows.length === 1 ? 'row' : 'rows'} {rows.join(', ')}
          {count > rows.length && ` and ${number(count - rows.length)} more`}
        </td>
      </tr>
    ))}
  </Table>
);

function stateOf({ state, isPlan, rows, total, perSecond, seconds, files }: Run): string {
  const of = total === undefined ? counted(rows, 'row') : `${number(rows)} of ${counted(total, 'row')}`;
  const sum = (part: (counts: Counts) => number): number =>
    files.reduce((all, { counts }) => all + part(counts), 0);
  const rejected = sum((counts) => counts.rejected);
  if (state === 'finished' && !isPlan && rejected > 0) {
    const loaded = sum(
      ({ created, updated, unchanged, sentAgain }) => created + updated + unchanged + sentAgain,
    );
    return `${number(loaded)} loaded, ${number(rejected)} rejected in ${seconds.toFixed(1)} s.`;
  }
  if (state === 'finished') return `${isPlan ? 'Checked' : 'Loaded'}: ${of} in ${seconds.toFixed(1)} s.`;
  if (state === 'stopped') return `Stopped after ${of}.${isPlan ? '' : ' Go on resumes it.'}`;
  if (state === 'stopping') return `${of}. It stops once the pushes on the way are answered.`;
  if (perSecond === undefined) return `${of}.`;
  const left =
    total === undefined || perSecond < 1 ? '' : `, some ${spanOf(((total - rows) / perSecond) * 1_000)} left`;
  return `${of}, ${number(Math.round(perSecond))} a second${left}.`;
}
