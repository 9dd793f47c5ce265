// Makes the query string of a call.

export type Query = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;

export function queryOf(query: Query): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const one of [value ?? []].flat()) parameters.append(name, String(one));
  }
  return parameters.size === 0 ? '' : `?${parameters}`;
}
