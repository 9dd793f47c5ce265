// Whether the target of a reference was there: surely, surely not, or unknown from outside.
import type { Item, Plural } from '../lines.ts';
import { isItem } from './fields.ts';
import { keyOf, type Push } from './push.ts';

export const referenceRules = {
  suppliers: undefined,
  products: { field: 'supplierExternalId', plural: 'suppliers', noun: 'Supplier' },
  batches: { field: 'productExternalId', plural: 'products', noun: 'Product' },
} as const satisfies Record<Plural, { field: string; plural: Plural; noun: string } | undefined>;

export type Verdict = 'there' | 'absent' | 'unknown';

const never = {
  /** When the first push that surely made the target was answered. */
  thereFromMs: Infinity,
  /** When the first push that may have made the target began. */
  possibleFromMs: Infinity,
  /** When the erasing of the target may have taken effect, and when it surely had. */
  goneFromMs: Infinity,
  goneMs: Infinity,
};

/** After this time every replica refuses references to an erased record. */
const goneWithinMs = 1_000;

export function openReferences(pushes: readonly Push[]) {
  const presences: Presences = new Map();
  for (const push of pushes) if (push.outcome !== 'refused') notePresence(presences, push);
  return {
    /** Whether the target of an item was there; also `there` if the item has no reference. */
    judge({ plural, integration, begunMs, endedMs }: Push, item: Item): Verdict {
      const rule = referenceRules[plural];
      const id = rule === undefined ? undefined : item[rule.field];
      if (rule === undefined || typeof id !== 'string' || id === '') return 'there';
      const presence = presences.get(keyOf(integration, rule.plural, id));
      if (presence === undefined || presence.possibleFromMs >= endedMs || presence.goneMs <= begunMs)
        return 'absent';
      return presence.thereFromMs <= begunMs && presence.goneFromMs >= endedMs ? 'there' : 'unknown';
    },
  };
}

type Presences = Map<string, typeof never>;

function notePresence(presences: Presences, push: Push): void {
  const { integration, plural, begunMs, endedMs } = push;
  for (const [position, item] of push.items.entries()) {
    if (!isItem(item) || push.wrong.has(position)) continue;
    const key = keyOf(integration, plural, String(item['externalId']));
    const presence = presences.get(key) ?? { ...never };
    if (push.action === 'erase') {
      presence.goneFromMs = Math.min(presence.goneFromMs, begunMs);
      if (push.outcome === 200) presence.goneMs = Math.min(presence.goneMs, endedMs + goneWithinMs);
      continue;
    }
    presence.possibleFromMs = Math.min(presence.possibleFromMs, begunMs);
    const status = push.answer?.records[position]?.status;
    if (status === 'CREATED' || status === 'UPDATED')
      presence.thereFromMs = Math.min(presence.thereFromMs, endedMs);
    presences.set(key, presence);
  }
}
