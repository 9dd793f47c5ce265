/** A caller's text, fit for a message: quoted, escaped, and cut after 40 characters. */
export function quote(text: string): string {
  const points = Array.from(text.slice(0, 82));
  return JSON.stringify(points.length > 40 ? `${points.slice(0, 40).join('')}…` : points.join(''));
}
