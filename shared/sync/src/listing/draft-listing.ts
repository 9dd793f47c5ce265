// How `GET /dds` shows the drafts of due-diligence statements. Their order and pages: answer-page.ts.
import type { KindEngine } from '../engine.ts';
import type { DraftDocument } from '../records/drafts.ts';
import type { ListingRule } from './answer-page.ts';
import { draftNarrowing } from './listing-filters.ts';

export function draftListing(of: KindEngine): ListingRule<DraftDocument> {
  const { plural, drafting } = of.kind;
  if (drafting === undefined) throw new Error(`the kind ${plural} has no drafts`);
  return {
    name: drafting.collection,
    narrowing: draftNarrowing(of, drafting.idPrefix),
    fields: ['entry'],
    entityOf: ({ entry }) => drafting.shown(entry),
  };
}
