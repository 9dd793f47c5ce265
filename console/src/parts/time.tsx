import { nowOfGateway } from '../api/session.ts';
import { shortTime, utcOf } from '../text/time.ts';

/** A time in the browser's time zone, with UTC as its tooltip; `full` shows UTC beside it, too. */
export function Time({ at, full = false }: { at: string; full?: boolean }) {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return <span>{at}</span>;
  return (
    <time dateTime={at} title={utcOf(date)}>
      {shortTime(date, new Date(nowOfGateway()))}
      {full && <span class="utc"> · {utcOf(date)}</span>}
    </time>
  );
}
