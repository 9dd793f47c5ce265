// The buttons *Check* and *Load*, each off without the scope that it needs, and what they leave out.
import { useId } from 'preact/hooks';
import { kinds } from 'integration-sync/kinds';
import { session } from '../../api/session.ts';
import { counted } from '../../text/count.ts';
import { useStore } from '../../store.ts';
import { shown, tell } from '../page-desk.ts';
import type { Kind } from '../protocol.ts';

export function Steps({ isBusy }: { isBusy: boolean }) {
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

const namesShown = 8;

function listed(names: readonly string[]): string {
  const first = names.slice(0, namesShown).map((name) => `"${name}"`);
  return first.join(', ') + (names.length > namesShown ? ` and ${names.length - namesShown} more` : '');
}
