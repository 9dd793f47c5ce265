// The routes of the three kinds of records: each is pushed, planned, listed and archived alike. Suppliers are erased as well,
// and the due-diligence statements that pushes of batches drafted are listed.
import { Type, type TObject, type TProperties } from 'typebox';
import { Batch, DdsEntry, ddsStatuses } from '../batches.ts';
import { nullable, oneOf } from '../fields.ts';
import { limits } from '../limits.ts';
import { detailedEntityOf, type RecordSchemas } from '../listings.ts';
import { Product } from '../products.ts';
import { BatchPlanAnswer, BatchPushAnswer, PlanAnswer, PushAnswer } from '../pushes.ts';
import { scopes } from '../scopes.ts';
import { ArchiveAnswer, EraseAnswer, NamedRecords } from '../status-changes.ts';
import { subjects } from '../subjects.ts';
import { Supplier } from '../suppliers.ts';
import {
  batchExample,
  ddsExample,
  productExample,
  supplierExample,
  syncedAtExample,
  type RecordExample,
} from './examples.ts';
import { answered, cursor, detailsFlag, limit, listed, page, parameter, since, text } from './parameters.ts';
import { basePath, listTimeoutMs, pushTimeoutMs, type QueryParameter, type Route } from './route.ts';

const until = text(
  'until',
  'Only records last synced at this time or before; may stand beside `since`. Beside `changedSince`: only records last changed at this time or before',
);
const changedSince = text(
  'changedSince',
  'Only records created, changed, archived, erased or restored after this time, not those that a push found unchanged. Not beside `since`',
);
const idsOf = (name: string, what: string, absent: string): QueryParameter =>
  parameter(
    name,
    Type.Array(Type.String(), { maxItems: limits.idsListedMax }),
    `Only ${what} with this id; may be repeated up to ${limits.idsListedMax} times. ${absent} is absent from the answer`,
  );
const externalIds = idsOf('externalId', 'the record', 'A record that does not exist');
const batchExternalIds = idsOf(
  'batchExternalId',
  'the statement of the batch',
  'A batch that has no statement',
);
const ddsStatus = parameter(
  'status',
  oneOf(ddsStatuses),
  'Only statements with this status. Follow `Link`: where statements leave the status meanwhile, `page` skips others',
);
const details = detailsFlag(
  'Whether each entity also has `details`: the fields of the record, as in a push, and which pushes created and changed it. ' +
    'Such a page ends at 4 MiB and may be shorter than `limit`; follow `Link`',
);

const itemDetails = detailsFlag(
  'Whether the answer also says what became of each item, as a plan does: `unchanged` and `details`',
);

interface RecordKind extends RecordSchemas {
  plural: 'suppliers' | 'products' | 'batches';
  tag: Route['tag'];
  example: RecordExample;
}

/** The properties in the body of a push or a plan. */
function bodyProperties({ plural, item }: RecordKind): TProperties {
  const items = Type.Array(item, { description: `At most ${limits.itemsPerPushMax} items` });
  const flag = Type.Boolean({
    default: false,
    description: 'Draft a due-diligence statement for each batch that has none',
  });
  return { [plural]: items, ...(plural === 'batches' ? { autoCreateDDS: Type.Optional(flag) } : {}) };
}

/** The example of an answer to a push, or to a change of status, of one record. */
const answerExample = (counts: object, { item, internalId }: RecordExample, status: string) => ({
  success: true,
  ...counts,
  errors: [],
  records: [{ externalId: item.externalId, internalId, status }],
});

/** The example of an answer to a push. The example of an answer to a plan has further fields. */
const pushedExample = ({ plural, example }: RecordKind) => ({
  ...answerExample({ created: 1, updated: 0 }, example, 'CREATED'),
  ...(plural === 'batches' ? { ddsCreated: [] } : {}),
});

/** What the routes that push, plan, archive and erase have in common. */
const writing = ({ plural, tag }: RecordKind, verb: 'push' | 'plan' | 'archive' | 'erase') =>
  ({
    method: 'POST',
    path: `${basePath}/${plural}${verb === 'push' ? '' : `/${verb}`}`,
    operationId: `${verb}${tag}`,
    tag,
    takesItems: true,
    timeoutMs: pushTimeoutMs,
  }) as const;

function pushRoute(kind: RecordKind): Route {
  const isBatch = kind.plural === 'batches';
  return {
    ...writing(kind, 'push'),
    summary: `Create or update up to ${limits.itemsPerPushMax} ${kind.plural}`,
    description:
      'Records are matched by externalId. A wrong item gets the status ERROR, and does not affect other items. ' +
      'Fields that are absent keep their value, and null clears an optional field.',
    scope: scopes[`${kind.plural}Write` as const],
    subject: subjects[`${kind.plural}Push` as const],
    query: [itemDetails],
    body: {
      schema: Type.Object(bodyProperties(kind), { title: `Push${kind.tag}` }),
      example: { [kind.plural]: [kind.example.item], ...(isBatch ? { autoCreateDDS: false } : {}) },
    },
    answer: answered(isBatch ? BatchPushAnswer : PushAnswer, pushedExample(kind), 'X-Sync-Id'),
  };
}

function planRoute(kind: RecordKind): Route {
  const isBatch = kind.plural === 'batches';
  const assume = Type.Array(Type.String(), {
    maxItems: limits.itemsPerPushMax,
    description:
      'externalIds of referenced records that the plan treats as existing, as if they were pushed before',
  });
  const properties = { ...bodyProperties(kind), assume: Type.Optional(assume) };
  const example = {
    ...pushedExample(kind),
    unchanged: 0,
    details: [{ index: 0, action: 'created', changedFields: [], problems: [], ignored: [] }],
  };
  return {
    ...writing(kind, 'plan'),
    summary: `Say what a push of up to ${limits.itemsPerPushMax} ${kind.plural} would do, and store nothing`,
    description:
      'Takes the body of the push and answers what the push would answer now, and what would become of each item. ' +
      'Nothing is written, counted or announced.',
    // A plan changes nothing, so a token with the scope for listings may also plan.
    scope: scopes[`${kind.plural}Read` as const],
    orScope: scopes[`${kind.plural}Write` as const],
    subject: subjects[`${kind.plural}Plan` as const],
    body: {
      schema: Type.Object(properties, { title: `Plan${kind.tag}` }),
      example: { [kind.plural]: [kind.example.item], assume: [] },
    },
    answer: answered(isBatch ? BatchPlanAnswer : PlanAnswer, example),
  };
}

function listRoute(kind: RecordKind): Route {
  const { item, internalId } = kind.example;
  const entity = detailedEntityOf(kind, kind.plural === 'suppliers');
  const example = {
    externalId: item.externalId,
    internalId,
    name: item['batchNumber'] ?? item['name'],
    syncStatus: 'SYNCED',
    lastSyncedAt: syncedAtExample,
  };
  return {
    method: 'GET',
    path: `${basePath}/${kind.plural}`,
    operationId: `list${kind.tag}`,
    tag: kind.tag,
    summary: `List the ${kind.plural} that were synced`,
    scope: scopes[`${kind.plural}Read` as const],
    subject: subjects[`${kind.plural}List` as const],
    query: [page, limit, since, changedSince, until, externalIds, details, cursor],
    answer: listed(entity, `${kind.tag}Listing`, example, 'X-Next-Since', 'Link'),
    timeoutMs: listTimeoutMs,
  };
}

/** A route by which records, named by their ids, get another status. */
function statusRoute(
  kind: RecordKind,
  change: Pick<Route, 'summary' | 'description' | 'scope' | 'subject'> & {
    verb: 'archive' | 'erase';
    schema: TObject;
  },
): Route {
  const { verb, schema, ...said } = change;
  const counted = `${verb}d`;
  const example = answerExample({ [counted]: 1 }, kind.example, counted.toUpperCase());
  return {
    ...writing(kind, verb),
    ...said,
    body: { schema: NamedRecords, example: { externalIds: [kind.example.item.externalId] } },
    answer: answered(schema, example, 'X-Sync-Id'),
  };
}

const archiveRoute = (kind: RecordKind): Route =>
  statusRoute(kind, {
    verb: 'archive',
    summary: `Archive up to ${limits.itemsPerPushMax} ${kind.plural}`,
    description:
      'An archived record stays listed, as ARCHIVED, and can still be referred to. A push of its id restores it. ' +
      'An id that names no record gets the status ERROR, and does not affect other ids.',
    scope: scopes[`${kind.plural}Write` as const],
    subject: subjects[`${kind.plural}Archive` as const],
    schema: ArchiveAnswer,
  });

const supplierKind: RecordKind = {
  plural: 'suppliers',
  tag: 'Suppliers',
  name: 'Supplier',
  item: Supplier,
  linked: {},
  example: supplierExample,
};

const kinds: readonly RecordKind[] = [
  supplierKind,
  {
    plural: 'products',
    tag: 'Products',
    name: 'Product',
    item: Product,
    linked: {
      supplierInternalId: nullable('string', { description: 'internalId of the supplier, or null' }),
    },
    example: productExample,
  },
  {
    plural: 'batches',
    tag: 'Batches',
    name: 'Batch',
    item: Batch,
    linked: {
      productInternalId: nullable('string', { description: 'internalId of the product of the batch' }),
    },
    example: batchExample,
  },
];

export const recordRoutes: readonly Route[] = [
  ...kinds.flatMap((kind) => [pushRoute(kind), planRoute(kind), listRoute(kind)]),
  ...kinds.map(archiveRoute),
  statusRoute(supplierKind, {
    verb: 'erase',
    summary: `Erase up to ${limits.itemsPerPushMax} suppliers, as for personal data`,
    description:
      'All fields of the supplier and its externalId are removed. Its internalId stays listed, as ERASED; a second later, ' +
      'no push can refer to the supplier any more. An erasure cannot be undone: a push of the same externalId begins ' +
      'with no fields, under the same internalId.',
    scope: scopes.suppliersErase,
    subject: subjects.suppliersErase,
    schema: EraseAnswer,
  }),
  {
    method: 'GET',
    path: `${basePath}/dds`,
    operationId: 'listDds',
    tag: 'Batches',
    summary: 'List the due-diligence statements of batches',
    description:
      'A batch has a statement from the first push that gave it a `ddsReferenceNumber`, or accepted it with `autoCreateDDS`.',
    scope: scopes.batchesRead,
    subject: subjects.ddsList,
    query: [page, limit, since, ddsStatus, batchExternalIds, cursor],
    answer: listed(DdsEntry, 'DdsListing', ddsExample, 'X-Next-Since', 'Link'),
    timeoutMs: listTimeoutMs,
  },
];
