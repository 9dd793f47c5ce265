// Records that were pushed to be erased: what remains of each is its internal id, announced once.
import type { EventLine, ListedLine, StoredLine } from '../lines.ts';
import { erasedPrefix } from '../own-ids.ts';
import { isAcknowledged, type Push } from './push.ts';
import type { Report } from './violations.ts';

/** Other checks pass over records that are erased, or may be. */
export const isErased = (externalId: string): boolean =>
  externalId === '' || externalId.startsWith(erasedPrefix);

interface Seen {
  listed: readonly ListedLine[];
  stored: readonly StoredLine[];
  events: readonly EventLine[];
}

export function checkErased(pushes: readonly Push[], { listed, stored, events }: Seen, report: Report): void {
  const shown = new Map(listed.flatMap(({ entities }) => entities.map((one) => [one[2], one])));
  const kept = new Map(stored.map((line) => [line.internalId, line]));
  const told = Map.groupBy(
    events.filter(({ body }) => body.event === 'supplier.erased'),
    ({ body: { data } }) => ('internalId' in data ? data.internalId : ''),
  );
  for (const push of pushes) {
    if (push.action !== 'erase' || !isAcknowledged(push)) continue;
    for (const { externalId, internalId } of push.answer?.records ?? []) {
      const [listedId, name] = shown.get(internalId) ?? [];
      const { fields = {}, externalId: storedId } = kept.get(internalId) ?? {};
      const names = Object.keys(fields).join();
      const count = told.get(internalId)?.length ?? 0;
      const isGone = listedId === '' && name === '' && storedId === '' && names === 'syncStatus';
      if (isGone && count === 1) continue;
      const what = `${externalId} (${internalId}) of push ${push.id}: listed as "${listedId}" "${name}", stored as "${storedId}" with ${names}, announced ${count} times`;
      report({ class: 'erased', what });
    }
  }
}
