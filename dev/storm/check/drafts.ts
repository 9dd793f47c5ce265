// Checks due-diligence statements. A batch has exactly one if an acknowledged push with autoCreateDDS accepted it, or if it has a
// reference number. The push's answer, if any, and one event show the same statement. A later push may fill in a
// field, or change a number. `GET /dds` then shows the batch's current numbers, and each change of a number has exactly one event.
import { ddsAnnounced, type DdsAnnounced, type DdsEntry } from '@integration-sync/contracts';
import type { Item } from '../lines.ts';
import { syncIdOf, type Check, type Facts, type RecordEvent } from './facts.ts';
import { textInOrder as textOf } from './fields.ts';
import type { RecordHistory } from './history.ts';
import { isAnswered, isUncertain, keyOf } from './push.ts';

interface Told {
  source: 'answered' | 'kept' | 'announced' | 'changes';
  integration: string;
  /** The sync id of the push whose answer or event shows the statement; empty for the listing (`kept`). */
  by: string;
  entry: DdsEntry;
  /** The changed keys of an announced change. */
  changed?: readonly DdsAnnounced[];
}

/** The statement of one batch in answers, events and the listing. */
type Everywhere = Partial<Record<Told['source'], readonly Told[]>>;

export const checkDrafts: Check = ({ records, documents, byRecord, isPending, ...facts }, report) => {
  const byBatch = Map.groupBy(toldIn(facts), ({ integration, entry }) =>
    keyOf(integration, 'batches', entry.batchExternalId),
  );
  const known = [...records.values(), ...documents.values()].filter(({ plural }) => plural === 'batches');
  const keys = known.map(({ integration, plural, externalId }) => keyOf(integration, plural, externalId));
  for (const key of new Set([...byBatch.keys(), ...keys])) {
    const record = records.get(key);
    const of: Everywhere = Object.groupBy(byBatch.get(key) ?? [], ({ source }) => source);
    const ofNumbers = (): string | undefined =>
      faultOfNumbers(of, documents.get(key)?.fields ?? {}) ??
      unannounced(record, byRecord.get(key) ?? [], of);
    const fault = faultOf(record, of, isPending(key)) ?? (isPending(key) ? undefined : ofNumbers());
    if (fault !== undefined) report('draft', `${key}: ${fault}`);
  }
};

const toldIn = ({ pushes, drafts, events }: Pick<Facts, 'pushes' | 'drafts' | 'events'>): Told[] => [
  ...pushes
    .filter(isAnswered)
    .flatMap(({ integration, answer: { ddsCreated = [] }, syncId: by }) =>
      ddsCreated.map((entry) => ({ source: 'answered' as const, integration, by, entry })),
    ),
  ...drafts.map(({ integration, entry }) => ({ source: 'kept' as const, integration, by: '', entry })),
  ...events.flatMap(({ id, body: { integrationId: integration, data } }): Told[] => {
    if (!('ddsId' in data)) return [];
    const of = { integration, by: syncIdOf(id), entry: data };
    if (!('changedFields' in data)) return [{ ...of, source: 'announced' }];
    return [{ ...of, source: 'changes', changed: data.changedFields }];
  }),
];

/** The acknowledged pushes that asked for a statement, or gave the batch a reference number. */
const wanted = ({ writes, plural }: RecordHistory) =>
  plural === 'batches' ? writes.filter((write) => write.acknowledged && isAsking(write)) : [];

const isAsking = ({ push, items }: RecordHistory['writes'][number]): boolean =>
  push.drafting ||
  (items.findLast((item) => item['ddsReferenceNumber'] !== undefined)?.['ddsReferenceNumber'] ?? '') !== '';

function faultOf(
  record: RecordHistory | undefined,
  { answered = [], kept = [], announced = [] }: Everywhere,
  isPending: boolean,
): string | undefined {
  const asked = record === undefined ? [] : wanted(record);
  const cutOff = record?.writes.some((write) => isAsking(write) && isUncertain(write.push)) === true;
  if (kept.length > 1) return `${kept.length} statements are listed`;
  if (answered.length > 1) return `${answered.length} answers say that they drafted it`;
  if (announced.length > 1) return `${announced.length} announcements`;
  if (asked.length > 0 && kept.length === 0) return 'no statement, though one was asked for and acknowledged';
  if (answered.length > 0 && kept.length === 0) return 'an answer names a statement that is not listed';
  if (kept.length > 0 && asked.length === 0 && !cutOff) return 'a statement that no caller asked for';
  // Only the answer to a push with autoCreateDDS names a statement.
  const isNamed = asked.length > 0 && asked.every(({ push }) => push.drafting);
  if (isNamed && answered.length === 0 && !cutOff) return 'no answer says who drafted it';
  if (announced.length < kept.length && !isPending) return 'the statement was not announced';
  if (announced.length > kept.length) return 'a statement was announced and is not listed';
  const [first] = answered;
  if (first !== undefined && announced.some(({ by }) => by !== first.by)) return 'another run announced it';
  const texts = new Set([...answered, ...announced].map(({ entry }) => textOf(entry)));
  if (texts.size > 1) return `shown in ${texts.size} ways: ${[...texts].join(' ')}`;
  const now = kept[0]?.entry;
  const made = (first ?? announced[0])?.entry;
  if (made !== undefined && now !== undefined && !isLater(now, made))
    return `made as ${textOf(made)}, and listed as ${textOf(now)}`;
  return record === undefined ? undefined : faultOfContent(record, first ?? announced[0] ?? kept[0]);
}

const filledIn = ['hsCode', 'countryOfProduction', 'quantity', 'unit'] as const;
const given = [...filledIn, 'referenceNumber'] as const;

/** A later push may only fill in a field that was unknown, so that it is not missing any more, or change an announced key. */
function isLater(now: DdsEntry, made: DdsEntry): boolean {
  const known = filledIn.filter((key) => made[key] === null && now[key] !== null);
  const unknown = made.status === 'DRAFT' ? made.missing : given.filter((key) => now[key] === null);
  const missing = now.status === 'DRAFT' ? unknown.filter((key) => !known.some((one) => one === key)) : [];
  const later = [...known, ...ddsAnnounced].map((key) => [key, now[key]]);
  return textOf({ ...made, ...Object.fromEntries(later), missing }) === textOf(now);
}

/** Quantity and unit of a draft are those of the push that made it, if the answer to a push named that push. */
function faultOfContent({ writes }: RecordHistory, told: Told | undefined): string | undefined {
  const last = writes.find(({ push }) => push.syncId !== undefined && push.syncId === told?.by)?.items.at(-1);
  if (last === undefined || told === undefined) return undefined;
  for (const field of ['quantity', 'unit'] as const) {
    const pushed = last[field];
    if (pushed !== undefined && told.entry[field] !== pushed)
      return `${field} is ${JSON.stringify(told.entry[field])} instead of ${JSON.stringify(pushed)}`;
  }
  return told.entry.missing.length === 0 && told.entry.status === 'DRAFT'
    ? 'nothing is said to be missing'
    : undefined;
}

/** Compares the statement with its batch in the end, and the announced changes with the statement before and after. */
function faultOfNumbers(
  { kept: [now] = [], announced: [made] = [], changes = [] }: Everywhere,
  { ddsReferenceNumber: referenceNumber = null, ddsVerificationNumber: verificationNumber = null }: Item,
): string | undefined {
  if (now === undefined) return referenceNumber === null ? undefined : 'no statement of its number';
  const status = referenceNumber === null ? 'DRAFT' : 'REFERENCED';
  const ofBatch = textOf({ status, referenceNumber, verificationNumber });
  const shown = numbersOf(now.entry);
  if (ofBatch !== shown) return `listed with ${shown}, and its batch has ${ofBatch}`;
  if (made === undefined) return undefined;
  const told = [made, ...changes];
  if (!told.some(({ entry }) => numbersOf(entry) === shown)) return `no event says that it became ${shown}`;
  // The storm pushes each reference number once.
  const numbers = told
    .filter(({ changed = ddsAnnounced }) => changed.includes('referenceNumber'))
    .flatMap(({ entry }) => entry.referenceNumber ?? []);
  if (new Set(numbers).size < numbers.length) return `a change was announced twice, of ${numbers.join()}`;
  const turns = changes.filter(({ changed }) => changed?.includes('status'));
  const balance = turns.reduce((sum, { entry }) => sum + (entry.status === 'DRAFT' ? -1 : 1), 0);
  if (balance === Number(status !== 'DRAFT') - Number(made.entry.status !== 'DRAFT')) return undefined;
  return `made as ${made.entry.status}, is ${status}, and ${turns.length} changes of its status were announced`;
}

const numbersOf = ({ status, referenceNumber, verificationNumber }: DdsEntry): string =>
  textOf({ status, referenceNumber, verificationNumber });

const isNumber = (field: string): boolean => field.startsWith('dds');

/** Finds a push that changed a number of its batch, but did not announce the change of the statement. */
function unannounced(
  record: RecordHistory | undefined,
  events: readonly RecordEvent[],
  { announced = [], changes = [] }: Everywhere,
) {
  if (record?.isPrivate !== true || record.writes.some(({ acknowledged }) => !acknowledged)) return undefined;
  const changed = events.filter((event) => event.changed.some(isNumber));
  const told = [...announced, ...changes];
  const silent = changed.find((event) => !told.some(({ by }) => by === event.by));
  return silent && `push ${silent.push} changed its batch, and announced no change of the statement`;
}
