// Who the page speaks as. The token comes in the fragment, which browsers do not send, or is pasted; it leaves the fragment at
// once and stays in this tab's sessionStorage, and nowhere else.
import { createStore } from '../state/store.ts';
import type { TokenDescription } from './shapes.ts';

export interface Session {
  /** Undefined where the page has none. */
  token: string | undefined;
  /** What `GET /token` says of it. */
  described: TokenDescription | undefined;
  /** Why the page asks nothing more with this token. */
  ended: string | undefined;
  /** How far the gateway's clock is ahead of this one. */
  aheadMs: number;
}

const place = 'token';
const inFragment = /^#token=(?<token>[\w~+/.=-]+)$/;

export const session = createStore<Session>(of(undefined));

function of(token: string | undefined): Session {
  return { token, described: undefined, ended: undefined, aheadMs: 0 };
}

export function signIn(token: string): void {
  sessionStorage.setItem(place, token);
  session.set(of(token));
}

export function signOut(): void {
  sessionStorage.removeItem(place);
  session.set(of(undefined));
}

/** The token stays until another one is given, so that what is on the page stays with it. */
export function endSession(token: string, why: string): void {
  const now = session.get();
  if (now.token === token && now.ended === undefined) session.set({ ...now, ended: why });
}

/** A link has led to no token: the page asks for one. */
export function refuseLink(why: string): void {
  session.set({ ...of(undefined), ended: why });
}

/** Before anything else of the page. */
export function takeToken(): void {
  const { hash, pathname, search } = location;
  const token = inFragment.exec(decodeHash(hash))?.groups?.['token'];
  if (hash.startsWith('#token=')) history.replaceState(undefined, '', `${pathname}${search}#/`);
  if (token !== undefined) signIn(token);
  else if (session.get().token === undefined) {
    const kept = sessionStorage.getItem(place);
    if (kept !== null) session.set(of(kept));
  }
}

function decodeHash(hash: string): string {
  try {
    return decodeURIComponent(hash);
  } catch {
    return hash;
  }
}

export const nowOfGateway = (): number => Date.now() + session.get().aheadMs;

/** What a view needs, and the token lacks; undefined where it has it. */
export const lacks = ({ described }: Session, scope: string): boolean =>
  described !== undefined && !described.scopes.includes(scope);
