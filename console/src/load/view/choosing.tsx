import { useId, useState } from 'preact/hooks';
import { useStore } from '../../store.ts';
import { shown, tell } from '../page-desk.ts';

const taken = '.csv,.tsv,.txt,.ndjson,.jsonl,.json,.xlsx,.gz';

/** Where files are dropped, or chosen by the keyboard. */
export function Choosing({ isBusy }: { isBusy: boolean }) {
  const [isOver, setOver] = useState(false);
  const [folders, setFolders] = useState<string[]>([]);
  const files = useId();
  const drop = (event: DragEvent): void => {
    event.preventDefault();
    setOver(false);
    if (isBusy) return;
    const items = [...(event.dataTransfer?.items ?? [])].filter(({ kind }) => kind === 'file');
    const dropped = items.map((item) => ({ file: item.getAsFile(), isFolder: isFolder(item) }));
    setFolders(dropped.flatMap((one) => (one.isFolder && one.file !== null ? [one.file.name] : [])));
    choose(dropped.flatMap((one) => (one.isFolder || one.file === null ? [] : [one.file])));
  };
  return (
    <section
      aria-label="Choosing files"
      class={`card drop ${isOver ? 'over' : ''}`}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={drop}
    >
      <p>
        Drop files of suppliers, products and batches here, or choose them: CSV, Excel (<code>.xlsx</code>),
        NDJSON or JSON, also as .gz. The browser reads them: nothing is sent before you say so.
      </p>
      <div class="row">
        <span class="field">
          <label for={files}>Files</label>
          <input
            id={files}
            type="file"
            multiple
            accept={taken}
            disabled={isBusy}
            onChange={({ currentTarget }) => {
              choose([...(currentTarget.files ?? [])]);
              // Without this reset, the browser would not report that a person chooses the same file again.
              currentTarget.value = '';
            }}
          />
        </span>
        <Map isBusy={isBusy} />
      </div>
      {folders.map((name) => (
        <p key={name} class="problem" role="alert">
          {name} is a folder: drop its files.
        </p>
      ))}
    </section>
  );
}

/** Reads and saves a map: a JSON file that says which column is which field, as for the loader's option `--map`. */
function Map({ isBusy }: { isBusy: boolean }) {
  const { entries } = useStore(shown);
  const map = useId();
  return (
    <>
      <span class="field">
        <label for={map}>Map</label>
        <input
          id={map}
          type="file"
          accept=".json"
          disabled={isBusy}
          onChange={({ currentTarget }) => {
            const [file] = currentTarget.files ?? [];
            if (file !== undefined) tell({ do: 'map', file });
            currentTarget.value = '';
          }}
        />
      </span>
      {entries.length > 0 && (
        <button type="button" class="small" onClick={() => tell({ do: 'save', what: 'map', file: '' })}>
          Save the map
        </button>
      )}
    </>
  );
}

/** The browser passes a folder as a file that cannot be read. */
const isFolder = (item: DataTransferItem): boolean => item.webkitGetAsEntry()?.isDirectory === true;

function choose(files: readonly File[]): void {
  if (files.length > 0) tell({ do: 'choose', files });
}
