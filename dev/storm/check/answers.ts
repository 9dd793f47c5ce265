// Checks each answer by itself: its status, and for 200, whether it gives the right outcome of each item.
import type { FaultLine } from '../lines.ts';
import { isItem } from './fields.ts';
import { isAcknowledged, type Push } from './push.ts';
import { reasonsByPosition } from './references.ts';
import type { Report } from './violations.ts';

export function checkAnswers(pushes: readonly Push[], report: Report): void {
  for (const push of pushes) {
    if (!isAcknowledged(push)) continue;
    const fault = faultOf(push);
    if (fault !== undefined) report({ class: 'answer', what: `push ${push.id} (${push.plural}): ${fault}` });
  }
}

/** The first fault of an answer. */
function faultOf(push: Push): string | undefined {
  const { answer, items, syncId } = push;
  if (answer === undefined || syncId === undefined) return 'answered 200 without X-Sync-Id or a body';
  const { records, errors } = answer;
  if (records.length !== items.length) return `${items.length} items and ${records.length} records`;
  const count = (status: string): number => records.filter((record) => record.status === status).length;
  if (answer.created !== count('CREATED'))
    return `created ${answer.created}, but ${count('CREATED')} are CREATED`;
  if (answer.updated !== count('UPDATED'))
    return `updated ${answer.updated}, but ${count('UPDATED')} are UPDATED`;
  if (errors.length !== count('ERROR')) return `${errors.length} errors, but ${count('ERROR')} are ERROR`;
  if (answer.success !== (errors.length === 0)) return `success is ${answer.success}`;
  if (push.plural === 'batches' && push.action === undefined && answer.ddsCreated === undefined)
    return 'no ddsCreated';
  if (!push.drafting && (answer.ddsCreated ?? []).length > 0) return 'drafts that were not asked for';
  return push.items.map((item, position) => faultOfItem(push, item, position)).find(Boolean);
}

function faultOfItem(push: Push, item: unknown, position: number): string | undefined {
  const record = push.answer?.records[position];
  if (record === undefined) return `no record ${position}`;
  const { externalId, internalId, status } = record;
  const pushed = isItem(item) && typeof item['externalId'] === 'string' ? item['externalId'] : '';
  if (externalId !== pushed) return `record ${position} is of ${externalId}, item is of ${pushed}`;
  if ((status === 'ERROR') !== (internalId === ''))
    return `record ${position} is ${status} with id "${internalId}"`;
  const reason = reasonsByPosition(push).get(position);
  const expected = push.wrong.get(position);
  if (expected === undefined) {
    const isReference = reason === undefined || /not found\. Sync \w+ first\.$/.test(reason);
    return isReference ? undefined : `right item ${position} was refused: ${reason}`;
  }
  if (reason === undefined) return `wrong item ${position} was accepted (${expected} …)`;
  return reason.startsWith(expected)
    ? undefined
    : `wrong item ${position}: "${reason}" instead of "${expected} …"`;
}

type Strike = Pick<FaultLine, 'target' | 'atMs' | 'untilMs'>;

const targetOf = (gateway: number): string => (gateway === 0 ? 'gateway' : 'gateway-2');

/** The ledger notes a fault this long before the fault strikes at most. */
const noteMs = 50;
/** A gateway that got its signal to end may still take a connection for a moment. */
const endingMs = 1_000;
/** Longer than any machine takes to start a gateway again. */
const backMsMax = 60_000;

export function checkStatuses(pushes: readonly Push[], faults: readonly Strike[], report: Report): void {
  const isStruck = openStrikes(pushes, faults);
  for (const push of pushes) {
    const { outcome } = push;
    if (outcome === 200 || outcome === 504 || outcome === 'hung-up') continue;
    if (outcome === 503 && push.retryAfter !== undefined) continue;
    if ((outcome === 'broken' || outcome === 'refused') && isStruck(push)) continue;
    // The storm ended this caller before it had an answer.
    if (push.endedMs === Infinity) continue;
    const how = outcome === 503 ? '503 without Retry-After' : outcome;
    report({
      class: 'status',
      what: `push ${push.id} (${push.plural}, ${push.items.length} items) ended with ${how} after ${Math.round(push.endedMs - push.begunMs)} ms: ${push.problem ?? ''}`,
    });
  }
}

/** Connections to a gateway may fail from the moment of the strike until the gateway has answered a later push. */
function openStrikes(pushes: readonly Push[], faults: readonly Strike[]): (push: Push) => boolean {
  const strikes = faults
    .filter(({ target }) => target === 'gateway' || target === 'gateway-2')
    .map(({ target, atMs, untilMs }) => {
      const next = pushes.find(
        ({ gateway, begunMs, outcome }) =>
          targetOf(gateway) === target && begunMs > untilMs + endingMs && typeof outcome === 'number',
      );
      return { target, atMs, backMs: Math.min(next?.begunMs ?? Infinity, untilMs + backMsMax) };
    });
  return ({ gateway, begunMs, endedMs }) =>
    strikes.some(
      ({ target, atMs, backMs }) =>
        target === targetOf(gateway) && atMs - noteMs <= endedMs && begunMs <= backMs,
    );
}
