// The steps of a push up to the moment of writing, which a plan takes as well: what is right, what it refers to, and which
// records it speaks of.
import { isStrict } from '@integration-sync/contracts';
import type { BusRequest } from '@integration-sync/runtime/bus';
import { giveWay } from '@integration-sync/runtime/pace';
import type { Rejected } from '../items/answer.ts';
import type { PushBody } from '../items/body.ts';
import type { Stored } from '../records/classify.ts';
import type { KindEngine } from '../engine.ts';
import { gatherRecords, type PushedRecord } from '../items/fold.ts';
import { internalIdOf } from '../ids.ts';
import { acceptItems, referencedIds } from '../items/accept.ts';
import type { Reference } from '../kind.ts';
import { refuseUnknown } from '../items/unknown-fields.ts';
import type { Verdict } from '../items/validate.ts';

export interface Prepared {
  /** Those that the push speaks of, in the order of their places. */
  records: readonly PushedRecord[];
  rejected: readonly Rejected[];
  /** By externalId, the records that the pushed ones refer to. */
  found: ReadonlyMap<string, unknown>;
  /** By internal id, what is there of them, where that was read already. */
  stored?: ReadonlyMap<string, Stored>;
}

/** What is in `assumed` counts as there, whether it is or not. */
export async function prepare(
  { kind, validate }: KindEngine,
  request: BusRequest,
  { items, drafting }: PushBody,
  assumed: readonly string[] = [],
): Promise<Prepared> {
  await giveWay(items.length);
  const verdicts = items.map((item) => validate(item));
  const reference = await findReferences(kind.reference, verdicts, request, { drafting, assumed });
  await giveWay(items.length);
  const { accepted, rejected } = acceptItems(
    verdicts,
    reference,
    isStrict(request) ? refuseUnknown(kind) : undefined,
  );
  const records = gatherRecords(accepted, (externalId) =>
    internalIdOf(kind.idPrefix, request.integration, externalId),
  );
  return { records, rejected, found: reference?.found ?? new Map() };
}

async function findReferences(
  rule: Reference<unknown> | undefined,
  verdicts: readonly Verdict[],
  { integration, requestId, traceparent, deadline }: BusRequest,
  { drafting, assumed }: { drafting: boolean; assumed: readonly string[] },
): Promise<{ rule: Reference<unknown>; found: ReadonlyMap<string, unknown> } | undefined> {
  if (rule === undefined) return undefined;
  const ids = referencedIds(rule.field, verdicts);
  if (ids.length === 0) return { rule, found: new Map() };
  const found = await rule.find(ids, {
    integration,
    requestId,
    traceparent,
    deadline,
    withContent: drafting,
  });
  if (assumed.length === 0) return { rule, found };
  return { rule, found: new Map([...assumed.map((id) => [id, undefined] as const), ...found]) };
}
