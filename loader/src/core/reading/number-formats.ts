// The text that a number format of a workbook shows for a whole number that is an id: the format 0000 shows 7 as 0007.
import { Shown } from '../mapping/convert.ts';

/** How cells of a style show numbers: as dates, unchanged, or by a format that changes their text. */
export type Style = 'plain' | 'day' | ((value: number) => Shown);

/** Formats of numbers that show the digits of a whole number, perhaps in groups: General, 0, #,##0.00, 0.00E+00, @. */
const plainFormat = /^(?:general|@|[#?]*(?:,[#?]*)*0?(?:\.[0#?]+)?(?:e[+-]?0+)?%?)$/i;

export function styleOf(code: string): Style {
  const [first = ''] = sectionsOf(code);
  const bare = first.replaceAll(/_.|\*.|\[(?!\$[^\]-])[^[\]]*\]/g, '').trim();
  if (plainFormat.test(bare)) return 'plain';
  const parts = partsOf(bare);
  return (value) => new Shown(value, parts && render(value, parts), code);
}

/** A format has up to four parts: for positive numbers, negative ones, zero, and texts. */
const sectionsOf = (code: string): string[] => code.match(/(?:"[^"]*"|\\.|[^;"\\])+/g) ?? [];

interface Part {
  /** The literal text of the part; undefined for a digit. */
  literal: string | undefined;
  isZero: boolean;
}

/** The parts of a format; undefined if the format has more than digits and texts, such as a decimal point or a currency. */
function partsOf(format: string): Part[] | undefined {
  const parts: Part[] = [];
  for (const [token] of format.matchAll(/"[^"]*"|\\.|./gs)) {
    if (token === '0' || token === '#') parts.push({ literal: undefined, isZero: token === '0' });
    else if (token.length > 1) parts.push({ literal: token.replaceAll(/^["\\]|"$/g, ''), isZero: false });
    else if (/[-+/ ():]/.test(token)) parts.push({ literal: token, isZero: false });
    else return undefined;
  }
  return parts.some(({ literal }) => literal === undefined) ? parts : undefined;
}

/** The text of a number. Its digits fill the digit parts from the right; the first digit part gets all remaining digits. */
function render(value: number, parts: readonly Part[]): string | undefined {
  if (!Number.isSafeInteger(value) || value < 0) return undefined;
  let digits = value === 0 ? '' : String(value);
  const first = parts.findIndex(({ literal }) => literal === undefined);
  let text = '';
  for (let at = parts.length - 1; at >= 0; at -= 1) {
    const { literal, isZero } = parts[at] ?? { literal: '', isZero: false };
    if (literal !== undefined) text = literal + text;
    else if (at === first && digits !== '') text = digits + text;
    else if (digits !== '') {
      text = digits.slice(-1) + text;
      digits = digits.slice(0, -1);
    } else if (isZero) text = `0${text}`;
  }
  return text;
}
