import { createContext } from 'preact';
import { useContext, useEffect, useRef, useState } from 'preact/hooks';
import { call } from '../api/call.ts';
import { Problem } from '../api/problem.ts';
import type { Request } from '../api/request.ts';
import { session } from '../api/session.ts';
import { useStore } from '../store.ts';
import { Curl } from './curl.tsx';

export interface ActionProps<T> {
  label: string;
  request: Request;
  /** The request in the shown curl command, if that must hide a part, such as the values of headers. */
  shown?: Request;
  scope: string;
  kind?: 'plain' | 'main' | 'danger';
  /** The text that the page shows for an answer. */
  said: (body: T) => string;
  /** Whether an answer of 200 is a success, if its body may tell of a failure. By default, every 200 is a success. */
  isGood?: (body: T) => boolean;
  /** The page's labels by the names of fields: error messages show the labels. */
  fields?: Readonly<Record<string, string>>;
  onDone?: (body: T) => void;
  disabled?: boolean;
}

/** The same request is not sent again so soon after its answer: the second click of a double click does nothing. */
const restMs = 1_200;

/** How many requests of the actions in one dialog are unanswered: while there are any, the dialog keeps its content. */
export const InFlight = createContext({ requests: 0 });

type Outcome = { text: string; isGood: boolean } | undefined;

/** A button that sends one request and shows its outcome, with the curl command that sends the same request. */
export function Action<T>({
  label,
  request,
  shown = request,
  scope,
  kind = 'plain',
  said,
  isGood = () => true,
  fields = {},
  onDone,
  disabled = false,
}: ActionProps<T>) {
  const { described, ended } = useStore(session);
  const inFlight = useContext(InFlight);
  const [outcome, setOutcome] = useState<Outcome>();
  const [isBusy, setBusy] = useState(false);
  const resting = useRef<string | undefined>(undefined);
  const timer = useRef<number | undefined>(undefined);
  const key = JSON.stringify(request);
  useEffect(() => {
    // The outcome of an earlier request is removed. It stays beside a disabled button, which sends no further request.
    if (!disabled) setOutcome(undefined);
  }, [key]);
  useEffect(() => () => window.clearTimeout(timer.current), []);

  const isAllowed = described === undefined || described.scopes.includes(scope);
  const act = async (): Promise<void> => {
    if (isBusy || resting.current === key) return;
    resting.current = key;
    setBusy(true);
    inFlight.requests += 1;
    setOutcome(undefined);
    try {
      const { body } = await call<T>(request);
      setOutcome({ text: said(body), isGood: isGood(body) });
      onDone?.(body);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      setOutcome({ text: inWords(error.message, fields), isGood: false });
    } finally {
      inFlight.requests -= 1;
      setBusy(false);
      window.clearTimeout(timer.current);
      timer.current = window.setTimeout(() => {
        resting.current = undefined;
      }, restMs);
    }
  };
  return (
    <div class="action">
      <button
        type="button"
        class={kind}
        disabled={disabled || !isAllowed || ended !== undefined}
        aria-busy={isBusy}
        onClick={() => void act()}
      >
        {label}
      </button>
      <Curl request={shown} />
      {(!isAllowed || ended !== undefined) && (
        <span class="off">needs {ended === undefined ? <code>{scope}</code> : 'another token'}</span>
      )}
      <output class={outcome?.isGood === false ? 'bad' : 'good'}>{outcome?.text}</output>
    </div>
  );
}

/** Replaces names of fields by their labels: a message is one detail or several, joined by `; `, each beginning with a field's name. */
const inWords = (message: string, fields: Readonly<Record<string, string>>): string =>
  message.replaceAll(
    /(?<=^|; )\w+(?=[:/]| is required)/g,
    (name) => (Object.hasOwn(fields, name) ? fields[name] : undefined) ?? name,
  );
