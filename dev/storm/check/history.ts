// Reads from the ledger what callers did: every push, and for each record every push that wrote it.
import type { BegunLine, EndedLine, Item, Listed } from '../lines.ts';
import { isItem } from './fields.ts';
import { isAcknowledged, isErased, isUncertain, keyOf, privatePrefix, pushOf, type Push } from './push.ts';
import { openReferences, type Verdict } from './references.ts';

/** What one push may have done to one record. If an item's fate is unknown, the push has two writes: at most one took effect. */
export interface Write {
  push: Push;
  acknowledged: boolean;
  /** The items of the record in the push, in their order. */
  items: readonly Item[];
  /** The statuses of the items in the answer, if the push was acknowledged. */
  statuses: readonly string[];
}

export interface RecordHistory extends Listed {
  key: string;
  externalId: string;
  /** Whether only one caller pushes the record, one push at a time, so that the pushes have an order. */
  isPrivate: boolean;
  /** The writes of the record, by the time at which their pushes began. */
  writes: Write[];
}

export type History = ReturnType<typeof readHistory>;

export function readHistory(begun: readonly BegunLine[], ended: readonly EndedLine[]) {
  const ends = new Map(ended.map((line) => [line.push, line]));
  const pushes = begun.map((line) => pushOf(line, ends.get(line.push)));
  pushes.sort((one, other) => one.begunMs - other.begunMs);
  const bySync = new Map(pushes.flatMap((push) => (push.syncId === undefined ? [] : [[push.syncId, push]])));
  return { pushes, bySync, records: recordsOf(pushes) };
}

function recordsOf(pushes: readonly Push[]): Map<string, RecordHistory> {
  const references = openReferences(pushes);
  const records = new Map<string, RecordHistory>();
  for (const push of pushes) {
    if (!isAcknowledged(push) && !isUncertain(push)) continue;
    const { integration, plural } = push;
    for (const [externalId, all] of acceptedOf(push, (item) => references.judge(push, item))) {
      const key = keyOf(integration, plural, externalId);
      const isPrivate = externalId.startsWith(privatePrefix);
      const unwritten = { key, integration, plural, externalId, isPrivate, writes: [] };
      const { writes } = records.getOrInsert(key, unwritten);
      const sure = all.filter(({ verdict }) => verdict === 'there');
      for (const some of sure.length === 0 || sure.length === all.length ? [all] : [all, sure]) {
        const [items, statuses] = [some.map(({ item }) => item), some.map(({ status }) => status)];
        writes.push({ push, acknowledged: isAcknowledged(push), items, statuses });
      }
    }
  }
  return records;
}

/** By externalId: the items that an answered push accepted by its answer, and all valid items of a push without an answer. */
function acceptedOf(push: Push, judge: (item: Item) => Verdict) {
  const accepted = push.items.entries().flatMap(([position, item]) => {
    if (!isItem(item) || typeof item['externalId'] !== 'string' || isErased(item['externalId'])) return [];
    const status = push.answer?.records[position]?.status ?? '';
    const isAccepted = status === 'CREATED' || status === 'UPDATED';
    const verdict = isAcknowledged(push) ? (isAccepted ? 'there' : 'absent') : judge(item);
    if (verdict === 'absent' || (!isAccepted && push.wrong.has(position))) return [];
    return [{ id: item['externalId'], item, status, verdict }];
  });
  return Map.groupBy(accepted, ({ id }) => id);
}
