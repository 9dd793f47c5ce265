import { shortTime, utcOf } from '../text/time.ts';

/** Local, with UTC behind it; in full, UTC stands beside it. */
export function Time({ at, full = false }: { at: string; full?: boolean }) {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return <span>{at}</span>;
  return (
    <time dateTime={at} title={utcOf(date)}>
      {shortTime(date)}
      {full && <span class="utc"> · {utcOf(date)}</span>}
    </time>
  );
}
