const charactersMax = 40;
/** How many characters are quoted of a text with many escapes of up to six characters: an answer may quote 10,000 texts. */
const escapedMax = 13;

/** A caller's text, fit for a message: quoted, escaped, and cut after 40 characters, or after 13 if escapes double its length. */
export function quote(text: string): string {
  const points = Array.from(text.slice(0, 2 * charactersMax + 2));
  const cutAfter = (count: number): string =>
    JSON.stringify(points.length > count ? `${points.slice(0, count).join('')}…` : points.join(''));
  const quoted = cutAfter(charactersMax);
  return quoted.length <= 2 * charactersMax + '"…"'.length ? quoted : cutAfter(escapedMax);
}
