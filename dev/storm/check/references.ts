// Whether the target of a reference was there: surely, surely not, or unknown from outside.
import type { Item, Plural } from '../lines.ts';
import { isItem } from './fields.ts';
import type { Push } from './push.ts';
import type { Report } from './violations.ts';

export type ReferenceVerdict = 'there' | 'absent' | 'unknown';

const rules = {
  suppliers: undefined,
  products: { field: 'supplierExternalId', plural: 'suppliers', noun: 'Supplier' },
  batches: { field: 'productExternalId', plural: 'products', noun: 'Product' },
} as const satisfies Record<Plural, { field: string; plural: Plural; noun: string } | undefined>;

export interface References {
  /** Also `there` if the item has no reference. */
  judge(push: Push, item: Item): ReferenceVerdict;
}

interface Presence {
  /** When the first push that surely made it was answered. */
  thereFromMs: number;
  /** When the first push that may have made it began. */
  possibleFromMs: number;
  /** When its erasing may have taken effect, and when it surely had. */
  goneFromMs: number;
  goneMs: number;
}

export function openReferences(pushes: readonly Push[]): References {
  const presences = new Map<string, Presence>();
  for (const push of pushes) notePresence(presences, push);
  return {
    judge(push, item) {
      const rule = rules[push.plural];
      const id = rule === undefined ? undefined : item[rule.field];
      if (rule === undefined || typeof id !== 'string' || id === '') return 'there';
      const presence = presences.get(`${push.integration}/${rule.plural}/${id}`);
      if (presence === undefined || presence.possibleFromMs >= push.endedMs) return 'absent';
      if (presence.goneMs <= push.begunMs) return 'absent';
      return presence.thereFromMs <= push.begunMs && presence.goneFromMs >= push.endedMs
        ? 'there'
        : 'unknown';
    },
  };
}

/** References to an erased record are refused by every replica after this. */
const goneWithinMs = 1_000;

function notePresence(presences: Map<string, Presence>, push: Push): void {
  if (push.outcome === 'refused') return;
  for (const [position, item] of push.items.entries()) {
    if (!isItem(item) || push.wrong.has(position)) continue;
    const key = `${push.integration}/${push.plural}/${String(item['externalId'])}`;
    const never = { thereFromMs: Infinity, possibleFromMs: Infinity, goneFromMs: Infinity, goneMs: Infinity };
    const presence = presences.get(key) ?? never;
    if (push.action === 'erase') {
      presence.goneFromMs = Math.min(presence.goneFromMs, push.begunMs);
      if (push.outcome === 200) presence.goneMs = Math.min(presence.goneMs, push.endedMs + goneWithinMs);
      continue;
    }
    presence.possibleFromMs = Math.min(presence.possibleFromMs, push.begunMs);
    const status = push.answer?.records[position]?.status;
    if (status === 'CREATED' || status === 'UPDATED') {
      presence.thereFromMs = Math.min(presence.thereFromMs, push.endedMs);
    }
    presences.set(key, presence);
  }
}

/** The part of the refusal that is the same for every kind of target. */
const refusal = ' not found. Sync ';

/** Checks acknowledged pushes: existing targets are accepted, missing ones refused in the words of the contract. */
export function checkReferences(pushes: readonly Push[], report: Report): void {
  const references = openReferences(pushes);
  for (const push of pushes) {
    const rule = rules[push.plural];
    if (rule === undefined || push.answer === undefined) continue;
    const reasons = reasonsByPosition(push);
    for (const [position, item] of push.items.entries()) {
      if (!isItem(item)) continue;
      const verdict = references.judge(push, item);
      const words = `${rule.noun} with externalId "${String(item[rule.field])}" not found. Sync ${rule.plural} first.`;
      const reason = reasons.get(position) ?? '';
      const refused = verdict === 'absent' ? reason.includes(words) : reason.includes(refusal);
      if (verdict === 'unknown' || refused === (verdict === 'absent')) continue;
      report({
        class: 'reference',
        what: `push ${push.id}, item ${position}: ${String(item[rule.field])} was ${verdict}, and was ${refused ? 'refused' : 'accepted'}`,
      });
    }
  }
}

/** `errors` has one entry for each record that is ERROR, in the same order. */
export function reasonsByPosition({ answer }: Pick<Push, 'answer'>): Map<number, string> {
  const reasons = new Map<number, string>();
  let next = 0;
  for (const [position, { status }] of (answer?.records ?? []).entries()) {
    if (status === 'ERROR') reasons.set(position, answer?.errors[next++]?.error ?? '');
  }
  return reasons;
}
