// Finds duplicate keys in one object of a JSON text. A parser keeps the last value of such a key and reports nothing.
import { pointerPart } from '@integration-sync/contracts';

/** A JSON string, or one bracket, comma or colon. */
const token = /"(?:[^"\\]|\\.)*(?:"|\\?$)|[{}[\],:]/gs;

/** A container of the JSON text; an array has no keys. */
interface Container {
  pointer: string;
  keys?: Set<string>;
  /** The last key of an object, or the index of the last entry of an array. */
  at: string | number;
}

/** JSON Pointers of the duplicate keys, in their order. The text must be valid JSON. */
export function repeatedKeys(text: string): string[] {
  const repeated = new Set<string>();
  const containers: Container[] = [];
  let last = '';
  for (const [part] of text.matchAll(token)) {
    const inner = containers.at(-1);
    if (part === '{' || part === '[') {
      const pointer = inner === undefined ? '' : pointerTo(inner, inner.at);
      containers.push(part === '{' ? { pointer, keys: new Set(), at: '' } : { pointer, at: 0 });
    } else if (part === '}' || part === ']') containers.pop();
    else if (part === ',' && typeof inner?.at === 'number') inner.at += 1;
    else if (part === ':' && inner?.keys !== undefined) {
      // The key is decoded, as the same key may be written with escapes.
      inner.at = String(JSON.parse(last));
      if (inner.keys.has(inner.at)) repeated.add(pointerTo(inner, inner.at));
      inner.keys.add(inner.at);
    } else last = part;
  }
  return [...repeated];
}

const pointerTo = ({ pointer }: Container, at: string | number): string =>
  `${pointer}/${pointerPart(String(at))}`;
