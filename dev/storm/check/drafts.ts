// Due-diligence statements: one for each batch that an acknowledged push with autoCreateDDS accepted, and never a second one; in one
// answer where there was an answer, and announced once, both the same. The listing differs where a later push has filled in a field.
import type { DdsEntry } from '@integration-sync/contracts';
import type { DraftLine, EventLine } from '../lines.ts';
import { syncIdOf } from './events.ts';
import { keyOf, type History, type RecordHistory } from './history.ts';
import { isAcknowledged, isUncertain } from './push.ts';
import type { Report } from './violations.ts';

interface Told {
  /** The source of the entry: the sync id of a push, or `GET /dds`. */
  by: string;
  entry: DdsEntry;
}

export function checkDrafts(
  history: History,
  { listed, events }: { listed: readonly DraftLine[]; events: readonly EventLine[] },
  { isPending, report }: { isPending: (key: string) => boolean; report: Report },
): void {
  const answered = groupByBatch(
    history.pushes
      .filter(isAcknowledged)
      .flatMap(({ integration, answer, syncId = '' }) =>
        (answer?.ddsCreated ?? []).map((entry) => ({ integration, by: syncId, entry })),
      ),
  );
  const kept = groupByBatch(listed.map(({ integration, entry }) => ({ integration, by: 'GET /dds', entry })));
  const announced = groupByBatch(
    events.flatMap(({ id, body: { event, integrationId: integration, data } }) =>
      event === 'dds.created' && 'ddsId' in data ? [{ integration, by: syncIdOf(id), entry: data }] : [],
    ),
  );
  const keys = new Set([...answered.keys(), ...kept.keys(), ...announced.keys(), ...wantedKeys(history)]);
  for (const key of keys) {
    const of = {
      answered: answered.get(key) ?? [],
      kept: kept.get(key) ?? [],
      announced: announced.get(key) ?? [],
    };
    const fault = faultOf(history.records.get(key), of, isPending(key));
    if (fault !== undefined) report({ class: 'draft', what: `${key}: ${fault}` });
  }
}

function groupByBatch(all: readonly (Told & { integration: string })[]): Map<string, Told[]> {
  return Map.groupBy(all, ({ integration, entry }) => keyOf(integration, 'batches', entry.batchExternalId));
}

const wantedKeys = ({ records }: History): string[] =>
  [...records.values()].filter((record) => wanted(record).length > 0).map(({ key }) => key);

const wanted = ({ writes, plural }: RecordHistory) =>
  plural === 'batches' ? writes.filter(({ push, acknowledged }) => acknowledged && push.drafting) : [];

interface Everywhere {
  answered: readonly Told[];
  kept: readonly Told[];
  announced: readonly Told[];
}

function faultOf(
  record: RecordHistory | undefined,
  { answered, kept, announced }: Everywhere,
  isPending: boolean,
): string | undefined {
  const asked = record === undefined ? [] : wanted(record);
  const cutOff = record?.writes.some(({ push }) => push.drafting && isUncertain(push)) === true;
  if (kept.length > 1) return `${kept.length} statements are listed`;
  if (answered.length > 1) return `${answered.length} answers say that they drafted it`;
  if (announced.length > 1) return `${announced.length} announcements`;
  if (asked.length > 0 && kept.length === 0) return 'no statement, though one was asked for and acknowledged';
  if (answered.length > 0 && kept.length === 0) return 'an answer names a statement that is not listed';
  if (kept.length > 0 && asked.length === 0 && !cutOff) return 'a statement that no caller asked for';
  if (asked.length > 0 && answered.length === 0 && !cutOff) return 'no answer says who drafted it';
  if (announced.length < kept.length && !isPending) return 'the statement was not announced';
  if (announced.length > kept.length) return 'a statement was announced and is not listed';
  const [first] = answered;
  if (first !== undefined && announced.some(({ by }) => by !== first.by)) return 'another run announced it';
  const texts = new Set([...answered, ...announced].map(({ entry }) => textOf(entry)));
  if (texts.size > 1) return `shown in ${texts.size} ways: ${[...texts].join(' ')}`;
  const [now] = kept;
  const made = first ?? announced[0];
  if (made !== undefined && now !== undefined && !isLater(now.entry, made.entry))
    return `made as ${textOf(made.entry)}, and listed as ${textOf(now.entry)}`;
  return record === undefined ? undefined : faultOfContent(record, first ?? announced[0] ?? kept[0]);
}

const filledIn = ['hsCode', 'countryOfProduction', 'quantity', 'unit'] as const;

/** A later push fills in a field that was unknown when the statement was made, so that it is not missing any more, and no more. */
function isLater(now: DdsEntry, made: DdsEntry): boolean {
  const known = filledIn.filter((key) => made[key] === null && now[key] !== null);
  const filled = Object.fromEntries(known.map((key) => [key, now[key]]));
  const missing = made.missing.filter((key) => !known.some((one) => one === key));
  return textOf({ ...made, ...filled, missing }) === textOf(now);
}

const textOf = (entry: DdsEntry): string =>
  JSON.stringify(Object.entries(entry).toSorted(([one], [other]) => (one < other ? -1 : 1)));

/** Quantity and unit are those of the push that drafted, where an answer named that push. */
function faultOfContent({ writes }: RecordHistory, told: Told | undefined): string | undefined {
  const last = writes.find(({ push }) => push.syncId !== undefined && push.syncId === told?.by)?.items.at(-1);
  if (last === undefined || told === undefined) return undefined;
  for (const field of ['quantity', 'unit'] as const) {
    const pushed = last[field];
    if (pushed !== undefined && told.entry[field] !== pushed) {
      return `${field} is ${JSON.stringify(told.entry[field])} instead of ${JSON.stringify(pushed)}`;
    }
  }
  return told.entry.missing.length === 0 ? 'nothing is said to be missing' : undefined;
}
