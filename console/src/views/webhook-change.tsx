// Shows and changes the settings of a webhook. The API never returns the values of headers: to change one, a person
// enters all again.
import type { ComponentChildren } from 'preact';
import { useId, useState } from 'preact/hooks';
import { patch } from '../api/request.ts';
import type { Webhook } from '../api/shapes.ts';
import { Action } from '../parts/action.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { KindBoxes } from '../parts/kinds.tsx';
import { Whose } from '../parts/whose.tsx';
import type { StepProps } from './webhook-steps.tsx';
import { webhookFields, webhooksWrite } from './webhooks.tsx';

type Header = readonly [name: string, value: string];

interface Settings {
  url: string;
  events: readonly string[];
  description: string;
  recover: boolean;
  inFlightMax: number;
  /** The new headers; undefined leaves the headers as they are. */
  headers: readonly Header[] | undefined;
}

const headersMax = 10;

const settingsOf = ({ url, events, details }: Webhook): Settings => ({
  url,
  events,
  description: details?.description ?? '',
  recover: details?.recover ?? false,
  inFlightMax: details?.inFlightMax ?? 8,
  headers: undefined,
});

export function Change({ path, webhook, onDone }: StepProps & { webhook: Webhook }) {
  const before = settingsOf(webhook);
  // Only the settings that the person has entered: they stay when the page loads another caller's changes of the webhook.
  const [entered, setEntered] = useState<Partial<Settings>>({});
  const settings = { ...before, ...entered };
  const begin = (): void => setEntered({});
  const set = (change: Partial<Settings>): void => setEntered({ ...entered, ...change });
  const changes = changesOf(before, settings);
  const isTwice = isNameTwice(settings.headers ?? []);
  return (
    <Dialog label="Change …" title="Change this webhook" onClose={begin}>
      <Field label="Address">
        {(id) => (
          <input
            id={id}
            type="url"
            value={settings.url}
            onInput={({ currentTarget }) => set({ url: currentTarget.value })}
          />
        )}
      </Field>
      <KindBoxes chosen={settings.events} onChange={(events) => set({ events })} />
      {webhook.details !== undefined && (
        <Extras settings={settings} names={webhook.details.headerNames} set={set} />
      )}
      {isTwice && <p class="bad">Two headers have the same name.</p>}
      <Action
        label="Change"
        kind="main"
        scope={webhooksWrite}
        disabled={isTwice || Object.keys(changes).length === 0}
        request={patch(path, changes)}
        shown={patch(path, withoutValues(changes))}
        fields={webhookFields}
        said={() => 'Changed.'}
        onDone={() => {
          begin();
          onDone();
        }}
      />
    </Dialog>
  );
}

interface Changes extends Partial<Omit<Settings, 'description' | 'headers'>> {
  description?: string | null;
  headers?: Record<string, string> | null;
}

/** The body of the PATCH: only the settings that the person has changed. */
function changesOf(before: Settings, { url, events, description, recover, inFlightMax, headers }: Settings) {
  const changes: Changes = {
    ...(url === before.url ? {} : { url }),
    ...(same(events, before.events) ? {} : { events }),
    ...(description === before.description ? {} : { description: description === '' ? null : description }),
    ...(recover === before.recover ? {} : { recover }),
    ...(inFlightMax === before.inFlightMax ? {} : { inFlightMax }),
    ...(headers === undefined ? {} : { headers: headersOf(headers) }),
  };
  return changes;
}

const same = (one: readonly string[], other: readonly string[]): boolean =>
  one.length === other.length && one.every((kind) => other.includes(kind));

function headersOf(headers: readonly Header[]): Record<string, string> | null {
  const given = headersIn(headers);
  return given.length === 0 ? null : Object.fromEntries(given);
}

const headersIn = (headers: readonly Header[]): Header[] =>
  headers.filter(([name, value]) => name !== '' || value !== '');

/** An object has each name once: of two headers with one name, the first would be lost. */
const isNameTwice = (headers: readonly Header[]): boolean =>
  new Set(headersIn(headers).map(([name]) => name)).size < headersIn(headers).length;

/** The changes for the shown curl command, with “…” for the values of headers, which may be secrets. */
const withoutValues = ({ headers, ...changes }: Changes): Changes => ({
  ...changes,
  ...(headers === undefined
    ? {}
    : { headers: headers && Object.fromEntries(Object.keys(headers).map((name) => [name, '…'])) }),
});

interface ExtrasProps {
  settings: Settings;
  /** The names of the headers that the webhook has. */
  names: readonly string[];
  set: (change: Partial<Settings>) => void;
}

function Extras({ settings, names, set }: ExtrasProps) {
  const recoverId = useId();
  return (
    <>
      <Field label="Description">
        {(id) => (
          <input
            id={id}
            maxLength={200}
            value={settings.description}
            onInput={({ currentTarget }) => set({ description: currentTarget.value })}
          />
        )}
      </Field>
      <Field label="Deliveries in flight">
        {(id) => (
          <input
            id={id}
            type="number"
            min={1}
            max={64}
            value={settings.inFlightMax}
            onInput={({ currentTarget }) => set({ inFlightMax: Number(currentTarget.value) })}
          />
        )}
      </Field>
      <p class="tick-box">
        <input
          id={recoverId}
          type="checkbox"
          checked={settings.recover}
          onChange={({ currentTarget }) => set({ recover: currentTarget.checked })}
        />
        <label for={recoverId}>Comes back by itself after failures</label>
      </p>
      <Headers names={names} headers={settings.headers} onChange={(headers) => set({ headers })} />
    </>
  );
}

interface HeadersProps {
  names: readonly string[];
  headers: readonly Header[] | undefined;
  onChange: (headers: readonly Header[] | undefined) => void;
}

function Headers({ names, headers, onChange }: HeadersProps) {
  return (
    <fieldset class="headers">
      <legend>Headers of each delivery</legend>
      {headers === undefined ? (
        <KeptHeaders names={names} onChange={onChange} />
      ) : (
        <NewHeaders headers={headers} onChange={onChange} />
      )}
    </fieldset>
  );
}

function KeptHeaders({ names, onChange }: Pick<HeadersProps, 'names' | 'onChange'>) {
  const isNone = names.length === 0;
  return (
    <>
      <p>
        {!isNone && <code>{names.join(', ')}</code>}{' '}
        <span class="quiet">{isNone ? 'None.' : 'Values are never shown.'}</span>
      </p>
      <button
        type="button"
        class="small"
        onClick={() => onChange(isNone ? [none] : names.map((name): Header => [name, '']))}
      >
        {isNone ? 'Add a header' : 'Replace them'}
      </button>
    </>
  );
}

interface NewHeadersProps {
  headers: readonly Header[];
  onChange: HeadersProps['onChange'];
}

function NewHeaders({ headers, onChange }: NewHeadersProps) {
  const replace = (place: number, ...by: Header[]): void =>
    onChange([...headers.slice(0, place), ...by, ...headers.slice(place + 1)]);
  return (
    <>
      <p class="quiet">They take the place of those before. Without any, the webhook has none.</p>
      <Whose />
      {headers.map((header, place) => (
        <HeaderRow
          key={place}
          number={place + 1}
          header={header}
          onChange={(...by) => replace(place, ...by)}
        />
      ))}
      <span class="row">
        <button
          type="button"
          class="small"
          disabled={headers.length >= headersMax}
          onClick={() => onChange([...headers, none])}
        >
          Add a header
        </button>
        <button type="button" class="small" onClick={() => onChange(undefined)}>
          Leave them as they are
        </button>
      </span>
    </>
  );
}

interface HeaderRowProps {
  number: number;
  header: Header;
  /** Replaces the header of the row, or removes the row if called without a header. */
  onChange: (...by: Header[]) => void;
}

const HeaderRow = ({ number, header: [name, value], onChange }: HeaderRowProps) => (
  <div class="header" role="group" aria-label={`Header ${number}`}>
    <input
      aria-label="Name"
      placeholder="Name"
      autocomplete="off"
      spellcheck={false}
      value={name}
      onInput={({ currentTarget }) => onChange([currentTarget.value, value])}
    />
    <input
      aria-label="Value"
      placeholder="Value"
      spellcheck={false}
      autocomplete="off"
      value={value}
      onInput={({ currentTarget }) => onChange([name, currentTarget.value])}
    />
    <button type="button" class="small" aria-label={`Remove header ${number}`} onClick={() => onChange()}>
      Remove
    </button>
  </div>
);

const none: Header = ['', ''];

function Field({ label, children }: { label: string; children: (id: string) => ComponentChildren }) {
  const id = useId();
  return (
    <p class="field">
      <label for={id}>{label}</label>
      {children(id)}
    </p>
  );
}
