// Points in time as callers write them: a real calendar day, or an RFC 3339 date-time with its offset.

const form =
  /^(?<day>\d{4}-\d{2}-\d{2})(?:[Tt](?<clock>(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?)(?<zone>[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d))?$/;

/** The instant that `text` names; a day without a time names its first millisecond in UTC. Undefined for any other text. */
export function parseInstant(text: string): Date | undefined {
  const parts = form.exec(text)?.groups;
  if (parts?.['day'] === undefined) return undefined;
  if (!isCalendarDay(parts['day'])) return undefined;
  const instant = new Date(text.toUpperCase());
  return Number.isNaN(instant.getTime()) ? undefined : instant;
}

/** Date rolls 2024-02-30 over into March instead of refusing it, so the day is read back and compared. */
function isCalendarDay(day: string): boolean {
  const midnight = new Date(`${day}T00:00:00.000Z`);
  return !Number.isNaN(midnight.getTime()) && midnight.toISOString().startsWith(day);
}
