// Pushes and plans any number of items. Requests are sent one after another, so that of two items with the same id the later one
// is stored.
import { boundsAtFirst, bytesAtMost, bytesOfAll, cut, halve, type Bounds, type Piece } from './splitting.ts';
import { RequestFailed } from './errors.ts';
import type { Send } from './call.ts';
import type { ItemOf, Kind } from './kinds.ts';
import type { BatchPlanAnswer, DdsEntry, PlanAnswer } from './types.ts';

export interface PushOptions {
  signal?: AbortSignal | undefined;
  /** Called before each repetition of a request, after 429, 502, 503, 504 or a broken connection. */
  repeated?: (() => void) | undefined;
  /** For batches: whether to draft a due-diligence statement for each batch that has none. */
  autoCreateDDS?: boolean | undefined;
}

export interface PlanOptions extends PushOptions {
  /** Ids of referenced records that a plan treats as existing. At most 500, because each request contains all of them. */
  assume?: readonly string[] | undefined;
}

/** The answers of all requests as one. `details` has the outcome of each item, and pointers to wrong values. */
export interface PushOutcome extends PlanAnswer {
  /** The drafted due-diligence statements; empty unless batches are pushed. */
  ddsCreated: DdsEntry[];
  /** The sync ids of the answered requests: `runs` lists the pushes by these ids. */
  syncIds: string[];
}

export interface Pushing {
  push<K extends Kind>(kind: K, items: readonly ItemOf<K>[], options?: PushOptions): Promise<PushOutcome>;
  plan<K extends Kind>(kind: K, items: readonly ItemOf<K>[], options?: PlanOptions): Promise<PushOutcome>;
}

export function openPushing(send: Send): Pushing {
  // All calls share the bounds of a request: after a gateway has refused one as too large, all later requests are smaller.
  const bounds: Bounds = { ...boundsAtFirst };

  const sendBody = async (
    path: string,
    body: string,
    { signal, repeated }: PlanOptions,
  ): Promise<PushOutcome> => {
    const call = { method: 'POST', path, body, signal, repeated };
    const { headers, body: answer } = await send<BatchPlanAnswer>(call);
    const syncId = headers.get('x-sync-id');
    return { ...answer, ddsCreated: answer.ddsCreated ?? [], syncIds: syncId === null ? [] : [syncId] };
  };

  const sendPiece = async (
    path: string,
    kind: Kind,
    { texts, from }: Piece,
    options: PlanOptions,
  ): Promise<PushOutcome> => {
    try {
      return await sendBody(path, bodyOf(texts, kind, options), options);
    } catch (error) {
      if (!isTooLarge(error)) throw error;
      if (texts.length === 1) return tooLarge(kind, texts[0] ?? '', error);
      if (error.code === 'too_many_items') bounds.items = Math.ceil(texts.length / 2);
      // The refused request may be larger than the bound: other refusals may have lowered the bound since it was sent.
      else bounds.bytes = Math.min(bounds.bytes, bytesOfAll(texts) / 2);
      const outcome = emptyOutcome();
      for (const half of halve({ texts, from })) {
        append(outcome, await sendPiece(path, kind, half, options), half.from - from);
      }
      return outcome;
    }
  };

  const sendPieces = async (path: string, kind: Kind, items: readonly object[], options: PlanOptions) => {
    const texts = items.map((item) => JSON.stringify(item));
    if (texts.some((text) => text.includes('null'))) refuseNulls(items);
    const outcome = emptyOutcome();
    for (const piece of cut(texts, bounds)) {
      append(outcome, await sendPiece(path, kind, piece, options), piece.from);
    }
    return outcome;
  };

  const sendWhole = async (path: string, kind: Kind, body: string, options: PlanOptions) => {
    if (bytesAtMost(body) <= bounds.bytes) {
      const outcome = await sendBody(path, body, options).catch((error: unknown) => {
        if (!isTooLarge(error)) throw error;
        return undefined;
      });
      if (outcome !== undefined) return outcome;
    }
    const { [kind]: items = [] }: Partial<Record<Kind, object[]>> = JSON.parse(body);
    return sendPieces(path, kind, items, options);
  };

  // Most pushes fit into one request. Their items become one text, so that the items need not stay in memory during the request.
  // In the rare case that the text is too large, `sendWhole` parses it again to split the items.
  const sendAll = async (path: string, kind: Kind, items: readonly object[], options: PlanOptions) => {
    if (items.length > bounds.items) return sendPieces(path, kind, items, options);
    const body = JSON.stringify({ [kind]: items, ...besides(options) });
    if (body.includes('null')) refuseNulls(items);
    return sendWhole(path, kind, body, options);
  };

  return {
    push: (kind, items, { signal, repeated, autoCreateDDS } = {}) =>
      sendAll(`${kind}?details=true`, kind, items, { signal, repeated, autoCreateDDS }),
    plan: (kind, items, options = {}) => sendAll(`${kind}/plan`, kind, items, options),
  };
}

/** The properties of a request body besides its items. */
const besides = ({ autoCreateDDS, assume }: PlanOptions): object => ({ autoCreateDDS, assume });

function bodyOf(texts: readonly string[], kind: Kind, options: PlanOptions): string {
  const rest = JSON.stringify(besides(options)).slice(1);
  return `{"${kind}":[${texts.join(',')}]${rest === '}' ? '' : ','}${rest}`;
}

/** Refuses NaN, an infinite number and an invalid Date: JSON has null in their place, which would clear the field. */
function refuseNulls(items: readonly object[]): void {
  for (const [index, item] of items.entries())
    for (const [name, value] of Object.entries(item))
      if (value !== null && typeof value !== 'string' && JSON.stringify(value) === 'null')
        throw new TypeError(
          `item ${index}, ${name}: ${value} is no value of JSON; leave the field out, or give null to clear it`,
        );
}

const isTooLarge = (error: unknown): error is RequestFailed =>
  error instanceof RequestFailed && error.status === 413;

const emptyOutcome = (): PushOutcome => ({
  success: true,
  created: 0,
  updated: 0,
  unchanged: 0,
  errors: [],
  records: [],
  details: [],
  ddsCreated: [],
  syncIds: [],
});

function append(all: PushOutcome, one: PushOutcome, from: number): void {
  all.success &&= one.success;
  all.created += one.created;
  all.updated += one.updated;
  all.unchanged += one.unchanged;
  all.errors.push(...one.errors);
  all.records.push(...one.records);
  for (const detail of one.details) {
    detail.index += from;
    for (const problem of detail.problems) problem.pointer = moved(problem.pointer, from);
    detail.ignored = detail.ignored.map((pointer) => moved(pointer, from));
    all.details.push(detail);
  }
  all.ddsCreated.push(...one.ddsCreated);
  all.syncIds.push(...one.syncIds);
}

/**
 * Changes the index in a pointer such as `/suppliers/3/name`: from the index in one request to the index among all items of the
 * call.
 */
const moved = (pointer: string, from: number): string =>
  from === 0
    ? pointer
    : pointer.replace(
        /^(\/\w+\/)(\d+)/,
        (_all, start: string, index: string) => start + (Number(index) + from),
      );

/** The outcome of an item that is too large for a request of its own. The item fails; other items are pushed. */
function tooLarge(kind: Kind, text: string, { message }: RequestFailed): PushOutcome {
  const { externalId = '' }: { externalId?: string } = JSON.parse(text);
  const problem = { pointer: `/${kind}/0`, code: 'wrong_value' as const, detail: message };
  return {
    ...emptyOutcome(),
    success: false,
    errors: [{ externalId, error: message }],
    records: [{ externalId, internalId: '', status: 'ERROR' }],
    details: [{ index: 0, action: 'failed', changedFields: [], problems: [problem], ignored: [] }],
  };
}
