// The page's side of the worker: one for the page, which goes on while other views are open.
import { endSession, session, type Session } from '../api/session.ts';
import { saveFile } from '../state/save-file.ts';
import { createStore } from '../store.ts';
import type { Access, Answer, Command, Run, Shown } from './protocol.ts';

const nothing: Shown = {
  busy: undefined,
  entries: [],
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

/** The last command, and what had the focus when it came. */
let asked: { command: Command; focused: Element | null } | undefined;

export const lastAsked = (): typeof asked => asked;

export function tell(command: Command): void {
  asked = { command, focused: document.activeElement };
  if ('do' in command && command.do !== 'save' && command.do !== 'stop')
    shown.set({ ...shown.get(), busy: shown.get().busy ?? '…' });
  worker?.postMessage(command);
}

/** Ends the work of whoever was signed in before, and begins that of who is now. */
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

function follow({ token, described }: Session): void {
  // A new token goes on with a load, unless it is of another integration.
  if (token === undefined || (described !== undefined && described.integrationId !== integration)) close();
  if (token === undefined || described === undefined) return;
  const access: Access = { token, integration: described.integrationId };
  if (worker === undefined) begin(access);
  else worker.postMessage({ do: 'access', access } satisfies Command);
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
  worker.addEventListener('error', ({ message }) =>
    shown.set({ ...shown.get(), busy: undefined, refused: [`The loader has failed: ${message}`] }),
  );
  tell({ do: 'begin', url: new URL('.', document.baseURI).href.replace(/\/$/, ''), access });
}

function hear(answer: Answer): void {
  if ('shown' in answer) shown.set({ ...shown.get(), ...answer.shown });
  else if ('saved' in answer) saveFile(answer.name, answer.saved);
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

/** The page names the file of the worker, and its policy allows no other script to become one. */
function addressOfWorker(): string {
  const named = document.querySelector<HTMLLinkElement>('#loader')?.href ?? '';
  // Not every browser has them.
  const trustedTypes: Policies | undefined = Reflect.get(globalThis, 'trustedTypes');
  const policy = trustedTypes?.createPolicy('loader', { createScriptURL: () => named });
  // The types of `Worker` know no trusted URL, which is no text.
  return (address ??= policy?.createScriptURL(named) ?? named);
}
