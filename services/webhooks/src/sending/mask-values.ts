// Masks the values of an endpoint's secret headers in answers of its receiver. An answer may repeat the request, unchanged or
// escaped for JSON, a URL, HTML, or JSON within JSON.
import { limits } from '@integration-sync/contracts';

/** The shortest value that is masked. Shorter header values are no secrets, and occur in any text. */
const secretCharactersMin = 6;
/** The most bytes that one character takes in an escaped form: `\\u0022`, within a text of JSON. */
export const escapedBytesMax = 7;

/** A text that was decoded from an answer, and for each character the range of its bytes in the answer. */
interface View {
  text: string;
  from: readonly number[];
  to: readonly number[];
}

const names: Readonly<Record<string, string>> = { quot: '"', amp: '&', lt: '<', gt: '>', apos: "'", t: '\t' };
const json = /\\(?:u00(?<hex>[0-7][\da-f])|(?<name>t)|(?<itself>["\\/]))/gi;
const percent = /%(?<hex>[2-7][\da-f]|09)|(?<space>\+)/gi;
const html = /&(?:(?<name>quot|amp|lt|gt|apos)|#x0{0,2}(?<hex>[\da-f]{1,2})|#0{0,2}(?<decimal>\d{1,3}));/gi;

/** Masks these values, and their single words, where they begin in the shown bytes of an answer, with one `*` for each byte. */
export function maskValues(received: Buffer, values: readonly string[]): Buffer {
  const masked = Buffer.from(received);
  const words = values.flatMap((value) => value.split(/[ \t]+/));
  const secrets = new Set(values.concat(words).filter(({ length }) => length >= secretCharactersMin));
  if (secrets.size === 0) return masked;
  const bytes = Array.from(received, (_, at) => at);
  const asSent = { text: received.toString('latin1'), from: bytes, to: bytes.map((at) => at + 1) };
  const asJson = unescaped(asSent, json);
  for (const { text, from, to } of [
    asSent,
    asJson,
    unescaped(asJson, json),
    unescaped(asSent, percent),
    unescaped(asSent, html),
  ]) {
    for (const secret of secrets) {
      // The search is in the received text: of two values that overlap, the second would not be found in masked bytes.
      for (let at = text.indexOf(secret); at >= 0; at = text.indexOf(secret, at + 1)) {
        // Each search takes time, and a receiver may repeat a value at every byte.
        if ((from[at] ?? 0) >= limits.responseBodyBytesMax) break;
        masked.fill('*', from[at], to[at + secret.length - 1]);
      }
    }
  }
  return masked;
}

function unescaped({ text, from, to }: View, escape: RegExp): View {
  const view = { text: '', from: [] as number[], to: [] as number[] };
  const add = (some: string, at: number, length: number): void => {
    view.text += some;
    for (let n = 0; n < some.length; n += 1) {
      view.from.push(from[at + n] ?? 0);
      view.to.push(to[at + (length === some.length ? n : length - 1)] ?? 0);
    }
  };
  let read = 0;
  for (const { 0: found, index, groups = {} } of text.matchAll(escape)) {
    add(text.slice(read, index), read, index - read);
    add(characterOf(groups), index, found.length);
    read = index + found.length;
  }
  add(text.slice(read), read, text.length - read);
  return view;
}

function characterOf({ hex, decimal, name, space, itself }: Record<string, string | undefined>): string {
  if (hex !== undefined) return String.fromCharCode(Number.parseInt(hex, 16));
  if (decimal !== undefined) return String.fromCharCode(Number(decimal));
  if (name !== undefined) return names[name.toLowerCase()] ?? '';
  return itself ?? (space === undefined ? '' : ' ');
}
