// Shows why a record does not exist: its item failed in a push. The API cannot search the errors of runs by externalId,
// so the page reads the newest runs with failures, as many as `requestsMax` allows, or only the run that a link names.
import { get } from '../api/request.ts';
import type { Listing, SyncRun, SyncRunInFull } from '../api/shapes.ts';
import { useLacks } from '../state/use-lacks.ts';
import { Time } from '../parts/time.tsx';
import { linkTo } from '../state/route.ts';
import { useLoad } from '../state/use-load.ts';
import { placeOf } from '../text/place.ts';
import { runsScope } from './runs.tsx';

interface FailedPushProps {
  externalId: string;
  entityType: string | undefined;
  /** The run that may have the error, if a link of that run led here. */
  run: string | undefined;
  requestsMax: number;
}

export function FailedPush({ externalId, entityType, run, requestsMax }: FailedPushProps) {
  const isOff = useLacks(runsScope);
  const failed = useLoad<Listing<SyncRun>>(
    isOff || run !== undefined
      ? undefined
      : get('/sync-runs', { failed: true, entityType, limit: requestsMax - 1 }),
  );
  if (isOff) return null;
  const runs = run === undefined ? (failed.answer?.body.entities ?? []).map(({ syncId }) => syncId) : [run];
  return (
    <>
      {runs.map((id) => (
        <FailedItem key={id} id={id} externalId={externalId} />
      ))}
    </>
  );
}

function FailedItem({ id, externalId }: { id: string; externalId: string }) {
  const { answer } = useLoad<SyncRunInFull>(get(`/sync-runs/${encodeURIComponent(id)}`));
  const error = answer?.body.errors.find((one) => one.externalId === externalId);
  if (answer === undefined || error === undefined) return null;
  return (
    <p class="problem">
      <bdi>{externalId}</bdi> failed in a push, not stored: {error.error} It was item {placeOf(error.index)}{' '}
      of <a href={linkTo('runs', [id])}>the run</a> of <Time at={answer.body.startedAt} full />.
    </p>
  );
}
