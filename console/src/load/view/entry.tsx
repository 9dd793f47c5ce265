// Shows what the loader understands of a file or a sheet. A person may correct each part.
import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';
import { isKind, kinds, neededOf, wordsOf } from 'integration-sync/kinds';
import { Table } from '../../parts/table.tsx';
import { counted } from '../../text/count.ts';
import { correct, tell } from '../page-desk.ts';
import { focusBeside } from './focus.ts';
import type { Entry, Rules } from '../protocol.ts';

const delimiters = [
  [';', 'semicolon'],
  [',', 'comma'],
  ['\t', 'tab'],
  ['|', '|'],
] as const;

const nameOf = (delimiter: string): string => delimiters.find(([one]) => one === delimiter)?.[1] ?? delimiter;

interface EntryProps {
  entry: Entry;
  isBusy: boolean;
}

export function EntryCard({ entry, isBusy }: EntryProps) {
  const { id, file, sheet, rows, notes, problem, isRejects } = entry;
  const heading = useId();
  return (
    <section class="card" aria-labelledby={heading}>
      <div class="row">
        <h2 id={heading} tabIndex={-1} data-file={file}>
          <bdi>{file}</bdi>
          {sheet !== undefined && (
            <>
              , sheet <bdi>{sheet}</bdi>
            </>
          )}
        </h2>
        {rows !== undefined && <span class="quiet">{counted(rows, 'row')}</span>}
        {isRejects && <span class="pill">rejected rows</span>}
        <button
          type="button"
          class="small"
          disabled={isBusy}
          onClick={({ currentTarget }) => {
            focusBeside(currentTarget);
            tell({ do: 'remove', id });
          }}
        >
          Leave out {sheet ?? file}
        </button>
      </div>
      {problem !== undefined && (
        <p class="problem lines" role="status">
          {problem}
        </p>
      )}
      {entry.columns.some(({ isSuggested }) => isSuggested) && (
        <p>
          The fields with a dashed border are <strong>suggested, check them</strong>.
        </p>
      )}
      {notes.length > 0 && <p class="quiet lines">{notes.join('\n')}</p>}
      <fieldset disabled={isBusy} class="rules">
        <legend>How it is read</legend>
        <Reading entry={entry} />
      </fieldset>
      {entry.columns.length > 0 && <Columns entry={entry} isBusy={isBusy} />}
    </section>
  );
}

/** Corrects the rules of an entry; a rule with the value undefined is removed. */
function change(
  entry: Entry,
  rules: { [Name in keyof Rules]: Rules[Name] | undefined },
  more: Partial<Entry> = {},
): void {
  const said = Object.fromEntries(
    Object.entries({ ...entry.rules, ...rules }).filter(([, value]) => value !== undefined),
  );
  correct(entry, { kind: entry.kind, rules: said, ...more });
}

/** The loader's messages name these labels (loader/src/platform/browser.ts). */
function Reading({ entry }: { entry: Entry }) {
  const { rules, encoding, delimiter } = entry;
  return (
    <>
      <Labelled label="Kind">
        {(id) => (
          <select
            id={id}
            value={entry.kind ?? ''}
            onChange={({ currentTarget: { value } }) => {
              const { columns: _columns, kind: _kind, ...rest } = rules;
              correct(entry, { kind: isKind(value) ? value : undefined, rules: rest });
            }}
          >
            <option value="">none: leave it out</option>
            {kinds.map((kind) => (
              <option key={kind}>{kind}</option>
            ))}
          </select>
        )}
      </Labelled>
      {encoding !== undefined && (
        <Text
          label="Encoding"
          value={rules.encoding}
          found={encoding}
          onChange={(text) => change(entry, { encoding: text })}
        />
      )}
      {delimiter !== undefined && <Delimiter entry={entry} found={delimiter} />}
      <Labelled label="Decimal sign">
        {(id) => (
          <select
            id={id}
            value={rules.decimal ?? ''}
            onChange={({ currentTarget: { value } }) =>
              change(entry, { decimal: value === ',' || value === '.' ? value : undefined })
            }
          >
            <option value="">as found</option>
            <option value=",">, as in 1.250,5</option>
            <option value=".">. as in 1,250.5</option>
          </select>
        )}
      </Labelled>
      <Text
        label="Dates"
        value={rules.dates}
        found="as found, or DD.MM.YYYY"
        onChange={(text) => change(entry, { dates: text })}
      />
      <Header entry={entry} />
      <label class="tick-box">
        <input
          type="checkbox"
          checked={rules.emptyClears === true}
          onChange={({ currentTarget }) => change(entry, { emptyClears: currentTarget.checked || undefined })}
        />
        An empty cell clears its field
      </label>
    </>
  );
}

const Delimiter = ({ entry, found }: { entry: Entry; found: string }) => (
  <Labelled label="Between columns">
    {(id) => (
      <select
        id={id}
        value={entry.rules.delimiter ?? ''}
        onChange={({ currentTarget }) => change(entry, { delimiter: currentTarget.value || undefined })}
      >
        <option value="">{found && `${nameOf(found)}, `}as found</option>
        {delimiters.map(([one, words]) => (
          <option key={one} value={one}>
            {words}
          </option>
        ))}
      </select>
    )}
  </Labelled>
);

function Header({ entry }: { entry: Entry }) {
  const { rules, columns, headerRow } = entry;
  const byPosition = Array.isArray(rules.columns);
  return (
    <Labelled label="Header">
      {(id) => (
        <select
          id={id}
          value={byPosition ? String(rules.skip ?? 0) : ''}
          onChange={({ currentTarget: { value } }) =>
            change(
              entry,
              value === ''
                ? { columns: undefined, skip: undefined }
                : { columns: columns.map(({ field }) => field ?? null), skip: Number(value) },
            )
          }
        >
          <option value="">
            {byPosition || headerRow === 0 ? 'as found' : `row ${headerRow}, as found`}
          </option>
          <option value="0">none: by position, from row 1</option>
          {[1, 2, 3, 4, 5].map((row) => (
            <option key={row} value={row}>
              by position, below row {row}
            </option>
          ))}
        </select>
      )}
    </Labelled>
  );
}

function Labelled({ label, children }: { label: string; children: (id: string) => ComponentChildren }) {
  const id = useId();
  return (
    <span class="field">
      <label for={id}>{label}</label>
      {children(id)}
    </span>
  );
}

interface TextProps {
  label: string;
  value: string | undefined;
  found: string;
  onChange: (text: string | undefined) => void;
}

const Text = ({ label, value, found, onChange }: TextProps) => (
  <Labelled label={label}>
    {(id) => (
      <input
        id={id}
        type="text"
        size={14}
        autocomplete="off"
        spellcheck={false}
        placeholder={found}
        value={value ?? ''}
        onChange={({ currentTarget }) => onChange(currentTarget.value.trim() || undefined)}
      />
    )}
  </Labelled>
);

const asIs = '-';

function Columns({ entry, isBusy }: EntryProps) {
  const { columns, kind, rules, unused } = entry;
  const words = Object.entries(kind === undefined ? {} : wordsOf[kind]);
  /** Keys of JSON that are no fields are sent too, and columns without a field may be parts of the externalId. */
  const isAsIs = (name: string): boolean =>
    kind !== undefined && rules.columns === undefined && name !== '' && !unused.includes(name);
  return (
    <Table label={`Columns of ${entry.id}`} heads={['Column', 'First values', '#Filled', 'Field']}>
      {columns.map(({ name, field, isSuggested, values, filled }, at) => (
        <tr key={at}>
          <td class="words">
            <bdi>{name}</bdi>
          </td>
          <td class="words quiet">
            <bdi>{values.join(' · ')}</bdi>
          </td>
          <td class="number">{Math.round(filled * 100)} %</td>
          <td>
            <select
              aria-label={`The field of column ${at + 1}, ${name}`}
              value={field ?? (isAsIs(name) ? asIs : '')}
              class={isSuggested ? 'suggested' : ''}
              disabled={isBusy || kind === undefined}
              onChange={({ currentTarget }) => setField(entry, at, currentTarget.value || undefined)}
            >
              <option value="">not used</option>
              {field === undefined && isAsIs(name) && <option value={asIs}>used as it is</option>}
              {words.map(([one, means]) => (
                <option key={one} value={one}>
                  {one}: {means}
                  {kind !== undefined && neededOf(kind).includes(one) ? ' (needed)' : ''}
                </option>
              ))}
            </select>
            {isSuggested && <span class="quiet"> suggested, check it</span>}
          </td>
        </tr>
      ))}
    </Table>
  );
}

/** A field has one column: the column that had the field before is not used any more. */
function setField(entry: Entry, at: number, field: string | undefined): void {
  const columns = entry.columns.map((column, index) =>
    index === at ? { ...column, field } : column.field === field ? { ...column, field: undefined } : column,
  );
  const fields = columns.map((column) => column.field ?? null);
  const named = Object.fromEntries(columns.map(({ name }, index) => [name, fields[index] ?? null]));
  change(entry, { columns: Array.isArray(entry.rules.columns) ? fields : named }, { columns });
}
