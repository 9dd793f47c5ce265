// Reads days as people and systems write them. ISO dates are valid in each column, whatever its format is. Two systems may read a
// time of day without a time zone differently, so only its day is read.

export interface DateFormat {
  /** The format as text, such as `DD.MM.YYYY`. */
  text: string;
  pattern: RegExp;
}

const tokens: Readonly<Record<string, string>> = {
  YYYY: String.raw`(?<year>\d{4})`,
  YY: String.raw`(?<year>\d{2})`,
  MMM: String.raw`(?<month>\p{L}{3,10})\.?`,
  MM: String.raw`(?<month>\d{1,2})`,
  DD: String.raw`(?<day>\d{1,2})`,
};
const token = /YYYY|YY|MMM|MM|DD/g;
const timeOfDay = String.raw`(?:,?[ T]\s*(?<time>\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?: ?[AaPp]\.?[Mm]\.?)?))?`;

/** Reads a format such as `DD.MM.YYYY`. Undefined if the text lacks a year, a month or a day. */
export function dateFormat(text: string): DateFormat | undefined {
  const found = text.match(token) ?? [];
  const isWhole = ['Y', 'M', 'D'].every(
    (letter) => found.filter((one) => one.startsWith(letter)).length === 1,
  );
  if (!isWhole || /[DMY]/.test(text.replaceAll(token, ''))) return undefined;
  // In a format without separators, day and month must have two digits each.
  const isDense = /^[YMD]+$/.test(text);
  const body = text.replaceAll(/YYYY|YY|MMM|MM|DD|[\s\S]/g, (part) => {
    const known = tokens[part];
    if (known === undefined) return part.replaceAll(/[.*+?^${}()|[\]\\/]/g, String.raw`\$&`);
    return isDense ? known.replace('{1,2}', '{2}') : known;
  });
  return { text, pattern: new RegExp(`^${body}${timeOfDay}$`, 'u') };
}

const iso = /^\d{4}-\d{2}-\d{2}(?:$|[Tt ])/;
const isoTime = new RegExp(String.raw`^(\d{4}-\d{2}-\d{2})${timeOfDay.replace(',?[ T]', '[ Tt]')}$`);
/** A time with a time zone as databases write it. RFC 3339 has a T between day and time, and a colon in the offset. */
const zoned = /^(\d{4}-\d{2}-\d{2}) (\d{2}:\d{2}:\d{2}(?:\.\d+)?) ?(Z|[+-]\d{2}):?(\d{2})?$/;
/** A time as OData 2 writes it: the milliseconds since 1970. */
const ofOData = /^\/Date\((-?\d{1,14})(?:[+-]\d{4})?\)\/$/;

export function readDate(text: string, format: DateFormat | undefined): string | undefined {
  if (iso.test(text)) return readIso(text);
  const [, ms] = ofOData.exec(text) ?? [];
  if (ms !== undefined) return new Date(Number(ms)).toISOString().replace('T00:00:00.000Z', '');
  const { year, month, day } = format?.pattern.exec(text)?.groups ?? {};
  if (year === undefined || month === undefined || day === undefined) return undefined;
  const number = numberOfMonth(month);
  // Whether the day exists is not checked here, because the service refuses a day that does not exist.
  return number === undefined ? undefined : `${wholeYear(year)}-${number}-${day.padStart(2, '0')}`;
}

function readIso(text: string): string {
  const [, day, time] = isoTime.exec(text) ?? [];
  if (day !== undefined) return time === undefined ? text : day;
  return text.replace(zoned, (_whole, date: string, clock: string, zone: string, minutes?: string) =>
    zone === 'Z' ? `${date}T${clock}Z` : `${date}T${clock}${zone}:${minutes ?? '00'}`,
  );
}

/** Whether the text has a time of day, which the conversion to a day drops. */
export function losesTime(text: string, format: DateFormat | undefined): boolean {
  const time = iso.test(text) ? isoTime.exec(text)?.[2] : format?.pattern.exec(text)?.groups?.['time'];
  return time !== undefined && !/^(?:0?0:00(?::00(?:[.,]0+)?)?|12:00(?::00)? ?a\.?m\.?)$/i.test(time);
}

/**
 * The year of two digits: 00 to 79 are in this century, 80 to 99 in the last. Products expire in decades, and some suppliers are
 * old.
 */
const wholeYear = (year: string): string =>
  year.length === 4 ? year : `${year < '80' ? '20' : '19'}${year}`;

const numberOfMonth = (month: string): string | undefined =>
  /^\d/.test(month)
    ? month.padStart(2, '0')
    : (months.get(plain(month).slice(0, 4)) ?? months.get(plain(month).slice(0, 3)));

const plain = (month: string): string => month.normalize('NFD').replaceAll(/\p{M}/gu, '').toLowerCase();

/**
 * Months by the first three letters of their names, or by four if two months share three, in English, German, French, Spanish and
 * Italian.
 */
const months: ReadonlyMap<string, string> = new Map(
  [
    'jan ene gen',
    'feb fev',
    'mar mrz',
    'apr avr abr',
    'may mai mag',
    'jun juin giu',
    'jul juil lug',
    'aug aou ago',
    'sep set',
    'oct okt ott',
    'nov',
    'dec dez dic',
  ].flatMap((names, index) =>
    names.split(' ').map((name) => [name, String(index + 1).padStart(2, '0')] as const),
  ),
);

const known = (
  'DD.MM.YYYY;YYYYMMDD;YYYY/MM/DD;YYYY.MM.DD;DD-MM-YYYY;DD/MM/YYYY;MM/DD/YYYY;MM-DD-YYYY;DD.MM.YY;DD/MM/YY;MM/DD/YY;' +
  'DD-MMM-YYYY;DD-MMM-YY;DD MMM YYYY;DD. MMM YYYY;MMM DD, YYYY'
)
  .split(';')
  .flatMap((text) => dateFormat(text) ?? []);

/** Whether a text means a missing date: it is empty, or consists of zeros, which SAP and MySQL write. */
export const isNone = (text: string): boolean => /^(?:0[-./0]*(?: [0:.]+)?)?$/.test(text);

/**
 * The formats that fit most of the texts: several if days and months cannot be distinguished, none if no format fits half of the
 * texts. Undefined if all texts are empty or ISO dates.
 */
export function findDates(texts: readonly string[]): DateFormat[] | undefined {
  const others = texts.filter((text) => !isNone(text) && !iso.test(text) && !ofOData.test(text));
  if (others.length === 0) return undefined;
  // Texts that do not fit the best format are rejected later, row by row.
  const most = Math.max(...known.map((format) => count(others, format)));
  return most < others.length / 2 ? [] : known.filter((format) => count(others, format) === most);
}

const count = (texts: readonly string[], { pattern }: DateFormat): number =>
  texts.filter((text) => {
    const { month = '0', day = '0' } = pattern.exec(text)?.groups ?? {};
    const number = Number(numberOfMonth(month));
    return number >= 1 && number <= 12 && Number(day) >= 1 && Number(day) <= 31;
  }).length;
