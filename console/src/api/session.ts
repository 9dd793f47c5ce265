// The session: the token or API key that the page sends with its requests. A person pastes it, or it comes in the URL's
// fragment, which browsers do not send. The page removes the token from the URL immediately, and keeps it in sessionStorage alone.
import { forgetLoads } from './kept-loads.ts';
import { createStore } from '../store.ts';
import type { TokenDescription } from './shapes.ts';

export interface Session {
  /** A token or API key; undefined before a person gave one. */
  token: string | undefined;
  /** The answer of `GET /token`; undefined until it has come. */
  described: TokenDescription | undefined;
  /** Why the page sends no more requests with this token, in words; undefined while it sends requests. */
  ended: string | undefined;
  /** How far the gateway's clock is ahead of the browser's. */
  aheadMs: number;
  /** The token of a link that was followed in a tab with another token. The page asks the person which token to use. */
  offered: string | undefined;
  /** A token that replaces `token` once `GET /token` has described it. Until then the views stay, with what a person has typed. */
  next: string | undefined;
}

/** What comes before `/console`, such as `/live`, or nothing: several services may have one origin, behind prefixes of a proxy. */
export const prefix = location.pathname.slice(0, -8);
const place = `token${prefix}`;
const inFragment = /^#token=(?<token>[\w~+/.=-]+)$/;

export const session = createStore<Session>(of(undefined));

function of(token: string | undefined): Session {
  return { token, described: undefined, ended: undefined, aheadMs: 0, offered: undefined, next: undefined };
}

export function signIn(token: string): void {
  sessionStorage.setItem(place, token);
  const now = session.get();
  session.set(now.described === undefined ? of(token) : { ...now, offered: undefined, next: token });
}

/** Begins the session of a token that `GET /token` has described. */
export function describe(token: string, described: TokenDescription, aheadMs: number): void {
  session.set({ ...session.get(), token, described, aheadMs, ended: undefined, next: undefined });
}

/**
 * Signs in by the token of a link, but not in a tab with another token: else what a person types next would go to the
 * integration of whoever made the link.
 */
export function signInByLink(token: string): void {
  keepToken();
  const now = session.get();
  if (now.token === undefined) signIn(token);
  else if (now.token !== token) session.set({ ...now, offered: token });
}

export function declineOffer(): void {
  session.set({ ...session.get(), offered: undefined });
}

/** Also forgets the loads of the integration, because the next person may belong to another integration. */
export function signOut(): void {
  // During a load, load/page-desk.ts cancels this `beforeunload`, as it does when the tab is closed.
  const isFree = dispatchEvent(new Event('beforeunload', { cancelable: true }));
  if (!isFree && !confirm('Files are being loaded. Sign out, and forget this load?')) return;
  const { described } = session.get();
  sessionStorage.removeItem(place);
  session.set(of(undefined));
  if (described !== undefined) forgetLoads(described.integrationId + prefix, !isFree);
}

/** Notes why the gateway refuses the token. The token stays, because a page without a token shows only the sign-in. */
export function endSession(token: string, why: string): void {
  const now = session.get();
  if (now.next === token) session.set({ ...now, ended: why, next: undefined });
  else if (now.token === token && now.ended === undefined) session.set({ ...now, ended: why });
}

/** For a link that yields no token: the page says why, and asks for a token. */
export function refuseLink(why: string): void {
  session.set({ ...of(undefined), ended: why });
}

/** Takes the token from the fragment, or else from sessionStorage, before anything is drawn. */
export function takeToken(): void {
  const { hash, pathname, search } = location;
  const token = inFragment.exec(decodeHash(hash))?.groups?.['token'];
  if (hash.startsWith('#token=')) history.replaceState(undefined, '', `${pathname}${search}#/`);
  if (token === undefined) keepToken();
  else signInByLink(token);
}

/** Takes the token that this tab has kept, if the page has none yet. */
function keepToken(): void {
  const kept = sessionStorage.getItem(place);
  if (session.get().token === undefined && kept !== null) session.set(of(kept));
}

function decodeHash(hash: string): string {
  try {
    return decodeURIComponent(hash);
  } catch {
    return hash;
  }
}

export const nowOfGateway = (): number => Date.now() + session.get().aheadMs;

/** Whether the token is known to lack the scope; false until `GET /token` has answered. */
export const lacks = ({ described }: Session, scope: string): boolean =>
  described !== undefined && !described.scopes.includes(scope);
