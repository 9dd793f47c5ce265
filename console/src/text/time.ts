// Times as the page shows them: local, with UTC beside or behind. Pure.

const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' });
const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' });

/** `02:14:09` of today, `26 Nov 02:14:09` of another day. */
export function shortTime(at: Date, now = new Date()): string {
  const isToday = at.toDateString() === now.toDateString();
  return isToday ? clock.format(at) : `${day.format(at)} ${clock.format(at)}`;
}

export const utcOf = (at: Date): string =>
  at
    .toISOString()
    .replace('T', ' ')
    .replace(/\.\d+Z$/, ' UTC');

/** `3 s`, `4 min`, `2 h`, `5 d`. */
export function spanOf(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000));
  if (seconds < 90) return `${seconds} s`;
  if (seconds < 90 * 60) return `${Math.round(seconds / 60)} min`;
  if (seconds < 48 * 3_600) return `${Math.round(seconds / 3_600)} h`;
  return `${Math.round(seconds / 86_400)} d`;
}

export const durationOf = (ms: number): string =>
  ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`;
