// The page's side of the worker. A page has one worker, which goes on while other views are open.
import { endSession, prefix, session, type Session } from '../api/session.ts';
import { saveFile } from '../state/save-file.ts';
import { createStore } from '../store.ts';
import type { Access, Answer, Command, Entry, Run, Shown } from './protocol.ts';

const nothing: Shown = {
  busy: undefined,
  entries: [],
  corrections: 0,
  refused: [],
  run: undefined,
  kept: undefined,
  isElsewhere: false,
  loaded: [],
  gone: undefined,
};

export const shown = createStore<Shown>(nothing);

let worker: Worker | undefined;
let integration: string | undefined;

/** The last command to the worker, and the element that had the focus at that moment. */
let asked: { command: Command; focused: Element | null } | undefined;

export const lastAsked = (): typeof asked => asked;

export function tell(command: Command): void {
  asked = { command, focused: document.activeElement };
  if ('do' in command && command.do !== 'save' && command.do !== 'stop')
    shown.set({ ...shown.get(), busy: shown.get().busy ?? '…' });
  worker?.postMessage(command);
}

/** Shows a correction before the worker has read the file again, so that a further correction keeps the first one. */
export function correct(entry: Entry, to: Pick<Entry, 'kind' | 'rules'> & Partial<Entry>): void {
  const { id } = entry;
  const { kind, rules } = to;
  const now = shown.get();
  const corrected = { ...entry, ...to };
  const entries = now.entries.map((one) => (one.id === id ? corrected : one));
  const corrections = now.corrections + 1;
  shown.set({ ...now, entries, corrections });
  tell({ do: 'change', id, kind, rules, corrections });
}

/** Starts a worker for the present session, and ends the worker of an earlier session of another integration. */
export function openDesk(): void {
  follow(session.get());
  isFollowing ||= follows();
}

let isFollowing = false;

function follows(): true {
  session.subscribe(() => follow(session.get()));
  addEventListener('beforeunload', (event) => {
    if (isUnderWay(shown.get().run)) event.preventDefault();
  });
  return true;
}

export const isUnderWay = (run: Run | undefined): boolean =>
  run?.isPlan === false && (run.state === 'under way' || run.state === 'stopping');

function follow({ token, described, ended }: Session): void {
  // A new token of the same integration keeps the worker and its load; without such a token the worker ends.
  if (token === undefined || (described !== undefined && described.integrationId !== integration)) close();
  if (token === undefined || described === undefined) return;
  const access: Access = { token, integration: described.integrationId };
  if (worker === undefined) begin(access);
  else if (ended === undefined) worker.postMessage({ do: 'access', access } satisfies Command);
}

function close(): void {
  worker?.terminate();
  worker = undefined;
  integration = undefined;
  shown.set(nothing);
}

function begin(access: Access): void {
  integration = access.integration;
  worker = new Worker(addressOfWorker(), { type: 'module' });
  worker.addEventListener('message', ({ data }: MessageEvent<Answer>) => hear(data));
  // If the browser has not got the script of the worker, the event has no message.
  worker.addEventListener('error', ({ message }) =>
    shown.set({
      ...shown.get(),
      busy: undefined,
      refused: [message || 'The loader has failed: load the page again.'],
    }),
  );
  tell({ do: 'begin', url: location.origin + prefix, slot: integration + prefix, access });
}

function hear(answer: Answer): void {
  if ('shown' in answer) {
    const now = shown.get();
    const { entries = now.entries, corrections = 0, ...others } = answer.shown;
    // Entries without the newest corrections are not shown: the worker is about to read them again.
    shown.set({ ...now, ...others, entries: corrections < now.corrections ? now.entries : entries });
  } else if ('saved' in answer) saveFile(answer.name, answer.saved);
  else endSession(answer.ended, 'This token is not valid, or has ended.');
}

interface Policies {
  createPolicy(
    name: string,
    rules: { createScriptURL: (text: string) => string },
  ): {
    createScriptURL(text: string): string;
  };
}

let address: string | undefined;

/** The address of the worker script, from the HTML page. The trusted-types policy `loader` allows no other address. */
function addressOfWorker(): string {
  // The policy is made once: a page may not have two policies with the same name.
  if (address !== undefined) return address;
  const named = document.querySelector<HTMLLinkElement>('#loader')?.href ?? '';
  // Not every browser has trusted types.
  const trustedTypes: Policies | undefined = Reflect.get(globalThis, 'trustedTypes');
  const policy = trustedTypes?.createPolicy('loader', { createScriptURL: () => named });
  // In the types of `Worker`, the address is a string, and not a trusted URL.
  return (address = policy?.createScriptURL(named) ?? named);
}
