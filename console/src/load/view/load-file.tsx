// The view *Load a file*, in a bundle of its own: the page fetches it when a person opens it.
import { useId, useLayoutEffect } from 'preact/hooks';
import { kinds } from 'integration-sync/kinds';
import { session } from '../../api/session.ts';
import { shortTime } from '../../text/time.ts';
import { counted } from '../../text/count.ts';
import { useStore } from '../../store.ts';
import { isUnderWay, openDesk, shown, tell } from '../desk.ts';
import type { Kind } from '../protocol.ts';
import { Choosing } from './choosing.tsx';
import { useFocus } from './focus.ts';
import { EntryCard } from './entry.tsx';
import { Outcome } from './outcome.tsx';
import { NotInFile } from './gone.tsx';

export function LoadFile() {
  const { entries, refused, busy, run, kept, isElsewhere } = useStore(shown);
  // A layout effect starts the worker, because files that are chosen without a worker are lost.
  useLayoutEffect(openDesk, []);
  // The fields of an entry stay enabled while files are read: a disabled field would lose the focus of a person.
  const isRunning = run?.state === 'under way' || run?.state === 'stopping';
  const isBusy = busy !== undefined || isRunning;
  useFocus(isBusy, isRunning);
  return (
    <>
      {isElsewhere && <p role="status">Another tab loads files of this integration.</p>}
      {kept !== undefined && !isUnderWay(run) && <Interrupted isBusy={isBusy} />}
      <Choosing isBusy={isBusy} />
      {refused.map((words) => (
        <p key={words} class="problem lines" role="alert">
          {words}
        </p>
      ))}
      {entries.map((entry) => (
        <EntryCard key={entry.id} entry={entry} isBusy={isRunning} />
      ))}
      {entries.length > 0 && <Steps isBusy={isBusy} />}
      <p role="status" class="quiet">
        {busy === '…' ? '' : busy}
      </p>
      {run !== undefined && <Outcome run={run} />}
      <NotInFile isBusy={isBusy} />
    </>
  );
}

/** A load that was interrupted goes on with the same files. */
function Interrupted({ isBusy }: { isBusy: boolean }) {
  const { kept } = useStore(shown);
  if (kept === undefined) return null;
  const isWhole = kept.files.every(({ isChosen }) => isChosen);
  return (
    <section class="card" aria-labelledby="interrupted">
      <h2 id="interrupted">A load was interrupted</h2>
      <p>
        It began at {shortTime(new Date(kept.startedAt))}.{' '}
        {isWhole ? 'Its files are here.' : 'Choose its files again, and it goes on where it was:'}
      </p>
      <ul>
        {kept.files.map(({ place, row, isChosen }) => (
          <li key={place}>
            <bdi>{place}</bdi>: up to row {row.toLocaleString('en')}
            {isChosen ? ', chosen' : ''}
          </li>
        ))}
      </ul>
      <span class="row">
        <button
          type="button"
          class="main"
          disabled={!isWhole || isBusy}
          onClick={() => tell({ do: 'go on' })}
        >
          Go on
        </button>
        <button type="button" disabled={isBusy} onClick={() => tell({ do: 'forget' })}>
          Forget it
        </button>
      </span>
    </section>
  );
}

const namesShown = 8;

function listed(names: readonly string[]): string {
  const first = names.slice(0, namesShown).map((name) => `"${name}"`);
  return first.join(', ') + (names.length > namesShown ? ` and ${names.length - namesShown} more` : '');
}

function Steps({ isBusy }: { isBusy: boolean }) {
  const { entries } = useStore(shown);
  const { described, ended } = useStore(session);
  const id = useId();
  const loaded = entries.filter(({ kind }) => kind !== undefined);
  const left = entries.length - loaded.length;
  const isWrong = loaded.some(({ problem }) => problem !== undefined);
  const has = (kind: Kind | undefined, verb: 'read' | 'write'): boolean =>
    described?.scopes.includes(`integration:${kind}:${verb}`) !== false;
  const lacking = kinds.filter((one) => loaded.some(({ kind }) => kind === one) && !has(one, 'write'));
  // A check needs the scope of reading or of writing.
  const unread = lacking.filter((kind) => !has(kind, 'read'));
  const isOff = isBusy || isWrong || loaded.length === 0 || ended !== undefined;
  const load = (): void => {
    const box = document.getElementById(id);
    tell({ do: 'load', autoCreateDDS: box instanceof HTMLInputElement && box.checked });
  };
  return (
    <section aria-label="Steps">
      <div class="row">
        <button type="button" disabled={isOff || unread.length > 0} onClick={() => tell({ do: 'check' })}>
          Check
        </button>
        <button type="button" class="main" disabled={isOff || lacking.length > 0} onClick={load}>
          Load
        </button>
        {loaded.some(({ kind }) => kind === 'batches') && (
          <label class="tick-box">
            <input id={id} type="checkbox" />
            Draft a due-diligence statement for each batch that has none
          </label>
        )}
        {lacking.map((kind) => (
          <span key={kind} class="off">
            {unread.includes(kind) && (
              <>
                Check needs <code>integration:{kind}:read</code>,{' '}
              </>
            )}
            Load needs <code>integration:{kind}:write</code>
          </span>
        ))}
      </div>
      {isWrong && <p class="quiet">Mend the file above, or leave it out.</p>}
      {left > 0 && (
        <p class="quiet">{counted(left, 'file or sheet', 'files or sheets')} without a kind: left out.</p>
      )}
      {loaded
        .filter(({ unused }) => unused.length > 0)
        .map(({ id: file, unused }) => (
          <p key={file}>
            Left out of <bdi>{file}</bdi>: {counted(unused.length, 'column')}, <bdi>{listed(unused)}</bdi>.
          </p>
        ))}
      <p class="quiet">Check changes nothing.</p>
    </section>
  );
}
