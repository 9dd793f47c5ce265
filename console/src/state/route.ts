// The route: which view the page shows, with ids and filters. It is the URL's fragment, so a copied URL opens the view.
//
//   #/webhooks/wh_1?outcome=failed     view, id, filters
import { createStore } from '../store.ts';

export interface Route {
  view: string;
  ids: readonly string[];
  query: Readonly<Record<string, string>>;
  /** A number that changes when a person asks for the present route again, so that its view begins anew. */
  turn?: number;
}

export const parseRoute = (hash: string): Route => {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?');
  const [view = '', ...ids] = path.split('/').map(decode);
  return { view: view || 'overview', ids, query: Object.fromEntries(new URLSearchParams(query)) };
};

export const linkTo = (
  view: string,
  ids: readonly string[] = [],
  query: Readonly<Record<string, string | undefined>> = {},
): string => {
  const given = Object.entries(query).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== '',
  );
  const text = new URLSearchParams(given).toString();
  return `#/${[view, ...ids].map(encodeURIComponent).join('/')}${text === '' ? '' : `?${text}`}`;
};

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export const route = createStore<Route>(parseRoute(''));

export function goTo(link: string): void {
  const { turn = 0, ...here } = route.get();
  if (link === location.hash) route.set({ ...here, turn: turn + 1 });
  else location.assign(link);
}
export const readRoute = (): void => route.set({ ...route.get(), ...parseRoute(location.hash) });

/** The same view with other filters, and without a cursor, which is good only for the filters of its listing. */
export const withQuery = (
  { view, ids, query }: Route,
  changes: Readonly<Record<string, string | undefined>>,
): string => linkTo(view, ids, { ...query, cursor: undefined, ...changes });
