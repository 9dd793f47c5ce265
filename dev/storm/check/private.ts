// Checks records that one caller alone pushed, one push at a time: each event and the final fields can be predicted.
import type { Facts } from './facts.ts';
import type { RecordHistory } from './history.ts';
import { worldOf, worldText } from './fields.ts';
import { tellStory } from './story.ts';
import type { Report, ViolationClass } from './violations.ts';
import { isExplained, TooManyPasts, type Leniency, type PrivateRecord } from './worlds.ts';

/** The explanations in the order of trying: the first that explains the events and fields names the violation. */
const explanations: readonly (readonly [ViolationClass, Leniency])[] = [
  ['overwritten', { late: true }],
  ['event-missing', { untold: true }],
  ['overwritten', { late: true, untold: true }],
  ['event-extra', { extra: true }],
  ['fields', { blind: true }],
  ['event-wrong', { deaf: true }],
  ['event-wrong', { deaf: true, extra: true, untold: true }],
];

type Seen = Pick<Facts, 'byRecord' | 'documents' | 'isPending' | 'faults'>;

export function checkPrivate({ key, plural, writes }: RecordHistory, facts: Seen, report: Report): void {
  const document = facts.documents.get(key);
  const events = facts.byRecord.get(key) ?? [];
  const record: PrivateRecord = { plural, writes, events, final: document && worldOf(document.fields) };
  try {
    // Recovery has not finished a push of a pending record: its change may be stored and not yet announced.
    if (isExplained(record, facts.isPending(key) ? { untold: true } : {})) return;
    const found = explanations.find(([, leniency]) => isExplained(record, leniency))?.[0] ?? 'fields';
    const isLost = document === undefined && writes.some(({ acknowledged }) => acknowledged);
    const what = `${key}, pushed ${writes.length} times by one caller`;
    report(isLost ? 'lost' : diagnose(record, found), what, timelineOf(record, facts));
  } catch (error) {
    if (!(error instanceof TooManyPasts)) throw error;
    report('storm', `${key} was cut off too often for anything to be said about it`);
  }
}

/** The class of the violation: an acknowledged creation without any event counts as a missing event. */
function diagnose({ writes, events }: PrivateRecord, found: ViolationClass): ViolationClass {
  if (found !== 'event-wrong') return found;
  const told = new Set(events.map(({ push }) => push));
  const untold = writes.some(
    ({ acknowledged, statuses, push }) => acknowledged && statuses[0] === 'CREATED' && !told.has(push.id),
  );
  return untold ? 'event-missing' : found;
}

function timelineOf(record: PrivateRecord, { faults }: Seen): string[] {
  const { writes, events, final } = record;
  const cutOff = writes.find(({ acknowledged }) => !acknowledged)?.push ?? writes[0]?.push;
  const items = writes.map(({ push, items: pushed }) => `${push.id} pushed ${JSON.stringify(pushed)}`);
  const told = events.map(
    ({ push, created, changed }) =>
      `event of ${push ?? 'a run that no caller knows of'}: ${created ? 'created' : `updated ${changed.join()}`}`,
  );
  return [
    ...tellStory(record, { fromMs: cutOff?.begunMs ?? 0, toMs: Infinity }, faults),
    ...items.slice(-12),
    ...told,
    `in the end: ${worldText(final)}`,
  ];
}
