// The view *Load a file*, in a bundle of its own: the page fetches it when a person opens it.
import { useLayoutEffect } from 'preact/hooks';
import { shortTime } from '../../text/time.ts';
import { useStore } from '../../store.ts';
import { isUnderWay, openDesk, shown, tell } from '../page-desk.ts';
import { Choosing } from './choosing.tsx';
import { useFocus } from './focus.ts';
import { EntryCard } from './entry.tsx';
import { Outcome } from './outcome.tsx';
import { NotInFile } from './gone.tsx';
import { Steps } from './steps.tsx';

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
