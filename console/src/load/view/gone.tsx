// Records that are not in the files of the last load: the page shows them, and archives them once a person confirms.
import { useId, useState } from 'preact/hooks';
import { session } from '../../api/session.ts';
import { Dialog } from '../../parts/dialog.tsx';
import { useStore } from '../../store.ts';
import { counted } from '../../text/count.ts';
import { shown, tell } from '../page-desk.ts';

export function NotInFile({ isBusy }: { isBusy: boolean }) {
  const { loaded, gone } = useStore(shown);
  if (loaded.length === 0) return null;
  const all = gone?.found.reduce((sum, { count }) => sum + count, 0) ?? 0;
  return (
    <section class="card" aria-labelledby="gone">
      <h2 id="gone">What is not in this file</h2>
      <p>
        Records of {loaded.map(({ kind }) => kind).join(', ')} that no row of{' '}
        <bdi>{loaded.flatMap(({ files }) => files).join(', ')}</bdi> named; repaired rows count as rows of
        their file. Archive them only if the file has all that you have: a file of changes has not.
      </p>
      <div class="row">
        <button type="button" disabled={isBusy} onClick={() => tell({ do: 'look for gone' })}>
          Show them
        </button>
        {all > 0 && gone?.isArchived === false && <Archiving all={all} isBusy={isBusy} />}
      </div>
      <div role="status">
        {gone?.found.map(({ kind, count, total }) => (
          <p key={kind}>
            {kind}: {count.toLocaleString('en')} of {counted(total, 'record')} were not in the last load
            {gone.isArchived && count > 0 ? ', and are archived now' : ''}.
          </p>
        ))}
      </div>
      {gone?.problem !== undefined && (
        <p class="problem" role="alert">
          {gone.problem}
        </p>
      )}
      {gone?.isArchived === false && <Ids />}
    </section>
  );
}

function Ids() {
  const { gone } = useStore(shown);
  const found = gone?.found.filter(({ count }) => count > 0) ?? [];
  return (
    <>
      {found.map(({ kind, ids, count }) => (
        <p key={kind} class="id">
          {kind}: <bdi>{ids.join(', ')}</bdi>
          {count > ids.length && ` and ${(count - ids.length).toLocaleString('en')} more`}
        </p>
      ))}
    </>
  );
}

function Archiving({ all, isBusy }: { all: number; isBusy: boolean }) {
  const { gone } = useStore(shown);
  const { described, ended } = useStore(session);
  const [most, setMost] = useState('10');
  const id = useId();
  const lacking = (gone?.found ?? [])
    .filter(({ count }) => count > 0)
    .map(({ kind }) => `integration:${kind}:write`)
    .filter((scope) => described?.scopes.includes(scope) === false);
  return (
    <>
      <Dialog
        label={`Archive ${counted(all, 'record')} …`}
        title="Archive what the files do not have"
        kind="danger"
      >
        <p>A later load that names one brings it back.</p>
        <Ids />
        <p class="field">
          <label for={id}>Refuse if more than this part of the records would go, in %</label>
          <input
            id={id}
            type="number"
            min={0}
            max={100}
            value={most}
            onInput={({ currentTarget }) => setMost(currentTarget.value)}
          />
        </p>
        <div class="row">
          <button
            type="button"
            class="danger"
            disabled={isBusy || lacking.length > 0 || ended !== undefined || !/^\d{1,3}$/.test(most)}
            onClick={({ currentTarget }) => {
              tell({ do: 'archive', most: Math.min(Number(most), 100) });
              currentTarget.closest('dialog')?.close();
            }}
          >
            Archive {counted(all, 'record')}
          </button>
          {lacking.map((scope) => (
            <span key={scope} class="off">
              needs <code>{scope}</code>
            </span>
          ))}
        </div>
      </Dialog>
    </>
  );
}
