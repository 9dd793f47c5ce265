// Times as the page shows them: in the browser's time zone, with UTC beside them or as a tooltip. Pure.

const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' });
const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' });

/** `02:14:09` of today, `26 Nov 02:14:09` of another day, `26 Nov 2025 02:14:09` of another year. */
export function shortTime(at: Date, now = new Date()): string {
  if (at.toDateString() === now.toDateString()) return clock.format(at);
  const year = at.getFullYear() === now.getFullYear() ? '' : ` ${at.getFullYear()}`;
  return `${day.format(at)}${year} ${clock.format(at)}`;
}

export const utcOf = (at: Date): string =>
  at
    .toISOString()
    .replace('T', ' ')
    .replace(/\.\d+Z$/, ' UTC');

/** A span of time as `3 s`, `4 min`, `2 h` or `5 d`. */
export function spanOf(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000));
  if (seconds < 90) return `${seconds} s`;
  if (seconds < 90 * 60) return `${Math.round(seconds / 60)} min`;
  if (seconds < 48 * 3_600) return `${Math.round(seconds / 3_600)} h`;
  return `${Math.round(seconds / 86_400)} d`;
}

export const durationOf = (ms: number): string =>
  ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`;

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const local =
  /^(?:(?<date>\d{1,2}) (?<month>[A-Z][a-z]{2})t? (?:(?<year>\d{4}) )?)?(?<hours>[01]\d|2[0-3]):(?<minutes>[0-5]\d)(?::(?<seconds>[0-5]\d))?$/;
const utc = /^(?<day>\d{4}-\d\d-\d\d) (?<clock>\d\d:\d\d:\d\d)(?:\.\d+)? UTC$/;

/** Turns a time as the page prints it into one that the API accepts. Returns any other text as it is. */
export function instantOf(text: string, now = new Date()): string {
  const printed = text.trim();
  // A time that the page prints may have two parts, local time and UTC: the second part, UTC, is exact.
  const { day: utcDay, clock: utcClock } = utc.exec(printed.split(' · ').at(-1) ?? '')?.groups ?? {};
  if (utcDay !== undefined && utcClock !== undefined) return `${utcDay}T${utcClock}Z`;
  const { date, month, year, hours, minutes, seconds = 0 } = local.exec(printed)?.groups ?? {};
  if (hours === undefined || minutes === undefined) return printed;
  const at = new Date(now);
  at.setHours(Number(hours), Number(minutes), Number(seconds), 0);
  if (date !== undefined && month !== undefined) {
    at.setFullYear(Number(year ?? now.getFullYear()), months.indexOf(month), Number(date));
    if (!months.includes(month) || at.getDate() !== Number(date)) return printed;
    // The page shows no future times by day and month, so this time was in the last year.
    if (at > now && year === undefined) at.setFullYear(at.getFullYear() - 1);
  } else if (at > now) at.setDate(at.getDate() - 1);
  return at.toISOString();
}

/** Whether the API accepts the text as a time: a day, or a date-time with Z or an offset. */
export const isInstant = (text: string): boolean =>
  /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d))?$/i.test(text) &&
  !Number.isNaN(Date.parse(text));
