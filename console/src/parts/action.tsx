import { createContext } from 'preact';
import { useContext, useEffect, useRef, useState } from 'preact/hooks';
import { call } from '../api/call.ts';
import { Problem } from '../api/problem.ts';
import type { Request } from '../api/request.ts';
import { session } from '../api/session.ts';
import { useStore } from '../state/store.ts';
import { Curl } from './curl.tsx';

export interface ActionProps<T> {
  label: string;
  request: Request;
  /** What the command shows, where it is less than what is sent. */
  shown?: Request;
  scope: string;
  kind?: 'plain' | 'main' | 'danger';
  /** What the page says once it is done. */
  said: (body: T) => string;
  /** Whether an answer says that it went as wanted; it does unless this says no. */
  isGood?: (body: T) => boolean;
  /** The words of the page for the fields of the interface, by name: errors bear them. */
  fields?: Readonly<Record<string, string>>;
  onDone?: (body: T) => void;
  disabled?: boolean;
}

/** The second click of a double click comes within it, and does nothing; another request does. */
const restMs = 1_200;

/** Of the actions in one dialog, which keeps them until all are answered. */
export const InFlight = createContext({ requests: 0 });

type Outcome = { text: string; isGood: boolean } | undefined;

/** A button that sends one request, says once what came of it, and shows the command that does the same. */
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
    // What was done leaves nothing to do, and is said until the next change.
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
      {!isAllowed && (
        <span class="off">
          needs <code>{scope}</code>
        </span>
      )}
      <output class={outcome?.isGood === false ? 'bad' : 'good'}>{outcome?.text}</output>
    </div>
  );
}

/** A detail begins with the name of a field; several details stand behind each other. */
const inWords = (message: string, fields: Readonly<Record<string, string>>): string =>
  message.replaceAll(
    /(?<=^|; )\w+(?=[:/]| is required)/g,
    (name) => (Object.hasOwn(fields, name) ? fields[name] : undefined) ?? name,
  );
