// Reads days as people write them. ISO dates are valid in each column, whatever its format is.

export interface DateFormat {
  /** The format as text, such as `DD.MM.YYYY`. */
  text: string;
  pattern: RegExp;
}

const tokens: Readonly<Record<string, string>> = {
  YYYY: String.raw`(?<year>\d{4})`,
  MM: String.raw`(?<month>\d{1,2})`,
  DD: String.raw`(?<day>\d{1,2})`,
};
/** Excel may write 00:00 after a day. */
const midnight = String.raw`(?:[ T]0?0:00(?::00(?:\.0+)?)?)?`;

/** Undefined if the text lacks a year, a month or a day. */
export function dateFormat(text: string): DateFormat | undefined {
  if (!['YYYY', 'MM', 'DD'].every((token) => text.split(token).length === 2)) return undefined;
  // Without separators, day and month have two digits each.
  const isDense = /^[YMD]+$/.test(text);
  const body = text.replaceAll(/YYYY|MM|DD|[^A-Z]|[A-Z]/g, (part) => {
    const token = tokens[part];
    if (token === undefined) return part.replaceAll(/[^\w\s]/g, String.raw`\$&`);
    return isDense ? token.replace('{1,2}', '{2}') : token;
  });
  return { text, pattern: new RegExp(`^${body}${midnight}$`) };
}

const iso = /^\d{4}-\d{2}-\d{2}(?:$|[Tt ])/;
const isoMidnight = new RegExp(`${midnight}$`);

export function readDate(text: string, format: DateFormat | undefined): string | undefined {
  if (iso.test(text)) return text.replace(isoMidnight, '');
  const { year, month, day } = format?.pattern.exec(text)?.groups ?? {};
  if (year === undefined || month === undefined || day === undefined) return undefined;
  // The service refuses a day that does not exist.
  return `${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`;
}

const known = [
  'DD.MM.YYYY',
  'YYYYMMDD',
  'YYYY/MM/DD',
  'YYYY.MM.DD',
  'DD-MM-YYYY',
  'DD/MM/YYYY',
  'MM/DD/YYYY',
];

/**
 * The formats that fit most texts: several if days and months could be either, none if no format fits half of them.
 * Undefined if all texts are empty or ISO dates.
 */
export function findDates(texts: readonly string[]): DateFormat[] | undefined {
  const others = texts.filter((text) => text !== '' && !iso.test(text) && !/^0[0.]*$/.test(text));
  if (others.length === 0) return undefined;
  const formats = known.flatMap((text) => dateFormat(text) ?? []);
  // Texts that do not fit the best format are rejected later, row by row.
  const most = Math.max(...formats.map((format) => count(others, format)));
  return most < others.length / 2 ? [] : formats.filter((format) => count(others, format) === most);
}

const count = (texts: readonly string[], { pattern }: DateFormat): number =>
  texts.filter((text) => {
    const { month = '0', day = '0' } = pattern.exec(text)?.groups ?? {};
    return Number(month) >= 1 && Number(month) <= 12 && Number(day) >= 1 && Number(day) <= 31;
  }).length;
