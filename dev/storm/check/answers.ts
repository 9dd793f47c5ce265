// Checks each answer alone: its status, and of a 200 the outcome of each item and the ids that it names, which must be stored.
import type { FaultLine } from '../lines.ts';
import type { Check } from './facts.ts';
import { isItem } from './fields.ts';
import { isAcknowledged, isAnswered, type Answered, type Push } from './push.ts';
import { openReferences, referenceRules } from './references.ts';

export const checkAnswers: Check = ({ pushes }, report) => {
  for (const push of pushes.filter(isAcknowledged)) {
    const fault = isAnswered(push) ? faultOf(push) : 'answered 200 without X-Sync-Id or a body';
    if (fault !== undefined) report('answer', `push ${push.id} (${push.plural}): ${fault}`);
  }
};

/** The first fault of an answer. */
function faultOf(push: Answered): string | undefined {
  const { answer, items } = push;
  const { records, errors, ddsCreated } = answer;
  if (records.length !== items.length) return `${items.length} items and ${records.length} records`;
  const count = (status: string): number => records.filter((record) => record.status === status).length;
  if (answer.created !== count('CREATED'))
    return `created ${answer.created}, but ${count('CREATED')} are CREATED`;
  if (answer.updated !== count('UPDATED'))
    return `updated ${answer.updated}, but ${count('UPDATED')} are UPDATED`;
  if (errors.length !== count('ERROR')) return `${errors.length} errors, but ${count('ERROR')} are ERROR`;
  if (answer.success !== (errors.length === 0)) return `success is ${answer.success}`;
  if (push.plural === 'batches' && push.action === undefined && ddsCreated === undefined)
    return 'no ddsCreated';
  if (!push.drafting && ddsCreated?.some(({ status }) => status === 'DRAFT'))
    return 'drafts that were not asked for';
  const reasons = reasonsOf(push);
  return items.map((_item, position) => faultOfItem(push, position, reasons.get(position))).find(Boolean);
}

function faultOfItem(
  { answer, items, wrong }: Answered,
  position: number,
  reason?: string,
): string | undefined {
  const record = answer.records[position];
  if (record === undefined) return `no record ${position}`;
  const { externalId, internalId, status } = record;
  const item = items[position];
  const pushed = isItem(item) && typeof item['externalId'] === 'string' ? item['externalId'] : '';
  if (externalId !== pushed) return `record ${position} is of ${externalId}, item is of ${pushed}`;
  if ((status === 'ERROR') !== (internalId === ''))
    return `record ${position} is ${status} with id "${internalId}"`;
  const expected = wrong.get(position);
  if (expected === undefined) {
    const isReference = reason === undefined || /not found\. Sync \w+ first\.$/.test(reason);
    return isReference ? undefined : `right item ${position} was refused: ${reason}`;
  }
  if (reason === undefined) return `wrong item ${position} was accepted (${expected} …)`;
  return reason.startsWith(expected)
    ? undefined
    : `wrong item ${position}: "${reason}" instead of "${expected} …"`;
}

/** The reasons by position. `errors` has one entry for each record that is ERROR, in the same order. */
function reasonsOf({ answer: { records, errors } }: Answered): Map<number, string> {
  const refused = [...records.entries()].filter(([, { status }]) => status === 'ERROR');
  return new Map(refused.map(([position], nth) => [position, errors[nth]?.error ?? '']));
}

/** Checks that items with existing targets are accepted, and items with missing targets refused in the words of the contract. */
export const checkReferences: Check = ({ pushes }, report) => {
  const references = openReferences(pushes);
  for (const push of pushes.filter(isAnswered)) {
    const rule = referenceRules[push.plural];
    if (rule === undefined) continue;
    const reasons = reasonsOf(push);
    for (const [position, item] of push.items.entries()) {
      if (!isItem(item)) continue;
      const verdict = references.judge(push, item);
      const target = String(item[rule.field]);
      const words = `${rule.noun} with externalId "${target}" not found. Sync ${rule.plural} first.`;
      const reason = reasons.get(position) ?? '';
      const refused = reason.includes(verdict === 'absent' ? words : ' not found. Sync ');
      if (verdict === 'unknown' || refused === (verdict === 'absent')) continue;
      const said = `was ${verdict}, and was ${refused ? 'refused' : 'accepted'}`;
      report('reference', `push ${push.id}, item ${position}: ${target} ${said}`);
    }
  }
};

/** A fault strikes at most this long after the ledger has noted it. */
const noteMs = 50;
/** How long a gateway accepts connections after the signal to end: usually, and if the gateway was starting. */
const [takenMs, endingMs] = [1_000, 10_000];
/** How long a gateway may be away: longer than any machine takes to start it again. */
const backMsMax = 60_000;

export const checkStatuses: Check = ({ pushes, faults }, report) => {
  const isStruck = openStrikes(pushes, faults);
  for (const push of pushes) {
    const { id, outcome, plural, items, begunMs, endedMs, problem = '' } = push;
    if (outcome === 200 || outcome === 504 || outcome === 'hung-up') continue;
    if (outcome === 503 && push.retryAfter !== undefined) continue;
    if ((outcome === 'broken' || outcome === 'refused') && isStruck(push)) continue;
    // The storm ended this caller before it had an answer.
    if (endedMs === Infinity) continue;
    const how = `${outcome === 503 ? '503 without Retry-After' : outcome} after ${Math.round(endedMs - begunMs)} ms`;
    report('status', `push ${id} (${plural}, ${items.length} items) ended with ${how}: ${problem}`);
  }
};

/** Connections to a gateway may fail from the moment of the strike until the gateway has answered a later push. */
function openStrikes(pushes: readonly Push[], faults: readonly FaultLine[]): (push: Push) => boolean {
  const strikes = faults.map(({ target, kind, atMs, untilMs }) => {
    const goneMs = untilMs + (kind === 'end' ? endingMs : takenMs);
    const nth = ['gateway', 'gateway-2'].indexOf(target);
    const next = pushes.find(
      ({ gateway, begunMs, outcome }) => gateway === nth && begunMs > goneMs && typeof outcome === 'number',
    );
    return { nth, atMs, backMs: Math.min(next?.begunMs ?? Infinity, untilMs + backMsMax) };
  });
  return ({ gateway, begunMs, endedMs }) =>
    strikes.some(({ nth, atMs, backMs }) => nth === gateway && atMs - noteMs <= endedMs && begunMs <= backMs);
}
