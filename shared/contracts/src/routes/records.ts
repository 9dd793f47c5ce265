// The routes of the three kinds of records: each is pushed, planned and listed alike.
import { Type, type TObject, type TProperties } from 'typebox';
import { Batch } from '../batches.ts';
import { limits } from '../limits.ts';
import { detailedEntityOf, listingOf } from '../listings.ts';
import { BatchPlanAnswer, PlanAnswer } from '../plans.ts';
import { Product } from '../products.ts';
import { BatchPushAnswer, PushAnswer } from '../pushes.ts';
import { scopes, type Scope } from '../scopes.ts';
import { subjects, type RequestSubject } from '../subjects.ts';
import { Supplier } from '../suppliers.ts';
import {
  batchExample,
  createdExample,
  listingExample,
  productExample,
  supplierExample,
  syncedAtExample,
  type RecordExample,
} from './examples.ts';
import { cursor, limit, page, since } from './parameters.ts';
import { basePath, listTimeoutMs, pushTimeoutMs, type QueryParameter, type Route } from './route.ts';

const until: QueryParameter = {
  name: 'until',
  schema: Type.String(),
  description:
    'Only what was last synced at this time or before; may stand beside `since`. Beside `changedSince`: what last changed then or before',
};
const changedSince: QueryParameter = {
  name: 'changedSince',
  schema: Type.String(),
  description:
    'Only what was created, changed, archived, erased or restored after this time; not what a push found as it should be. Not beside `since`',
};
const externalIds: QueryParameter = {
  name: 'externalId',
  schema: Type.Array(Type.String(), { maxItems: limits.idsListedMax }),
  description: `Only this record; may be repeated up to ${limits.idsListedMax} times. One that is not there is absent from the answer`,
};
const details: QueryParameter = {
  name: 'details',
  schema: Type.Boolean({ default: false }),
  description:
    'Whether each entity also has `details`: what the record holds, as it would be pushed, and by which pushes. ' +
    'Such a page ends at 4 MiB and may be shorter than `limit`; follow `Link`',
};

const itemDetails: QueryParameter = {
  name: 'details',
  schema: Type.Boolean({ default: false }),
  description:
    'Whether the answer also says what became of each item, as a plan does: `unchanged` and `details`',
};

interface RecordKind {
  plural: 'suppliers' | 'products' | 'batches';
  tag: Route['tag'];
  name: 'Supplier' | 'Product' | 'Batch';
  item: TObject;
  /** What `details` says of the record that this one refers to. */
  linked: TProperties;
  example: RecordExample;
  write: Scope;
  read: Scope;
  push: RequestSubject;
  plan: RequestSubject;
  list: RequestSubject;
}

/** What the body of a push holds, and that of a plan as well. */
function bodyProperties({ plural, item }: RecordKind): TProperties {
  const items = Type.Array(item, { description: `At most ${limits.itemsPerPushMax} items` });
  const flag = Type.Boolean({
    default: false,
    description: 'Draft a due-diligence statement for each batch that has none',
  });
  return { [plural]: items, ...(plural === 'batches' ? { autoCreateDDS: Type.Optional(flag) } : {}) };
}

/** What a push of the example is answered with, and a plan of it begins with. */
const answerExample = (kind: RecordKind) => ({
  ...createdExample(kind.example),
  ...(kind.plural === 'batches' ? { ddsCreated: [] } : {}),
});

function pushRoute(kind: RecordKind): Route {
  const isBatch = kind.plural === 'batches';
  return {
    method: 'POST',
    path: `${basePath}/${kind.plural}`,
    operationId: `push${kind.tag}`,
    tag: kind.tag,
    summary: `Create or update up to ${limits.itemsPerPushMax} ${kind.plural}`,
    description:
      'Records are matched by externalId. A wrong item becomes that item’s ERROR and leaves its neighbours alone; ' +
      'fields that are absent keep their value, and null clears an optional one.',
    scope: kind.write,
    subject: kind.push,
    takesItems: true,
    query: [itemDetails],
    body: {
      schema: Type.Object(bodyProperties(kind), { title: `Push${kind.tag}` }),
      example: { [kind.plural]: [kind.example.item], ...(isBatch ? { autoCreateDDS: false } : {}) },
    },
    answer: {
      status: 200,
      schema: isBatch ? BatchPushAnswer : PushAnswer,
      example: answerExample(kind),
      headers: ['X-Sync-Id'],
    },
    timeoutMs: pushTimeoutMs,
  };
}

function planRoute(kind: RecordKind): Route {
  const isBatch = kind.plural === 'batches';
  const assume = Type.Array(Type.String(), {
    maxItems: limits.itemsPerPushMax,
    description:
      'externalIds of referenced records to take as there, such as those that would be pushed before',
  });
  const properties = { ...bodyProperties(kind), assume: Type.Optional(assume) };
  const example = {
    ...answerExample(kind),
    unchanged: 0,
    details: [{ index: 0, action: 'created', changedFields: [], problems: [], ignored: [] }],
  };
  return {
    method: 'POST',
    path: `${basePath}/${kind.plural}/plan`,
    operationId: `plan${kind.tag}`,
    tag: kind.tag,
    summary: `Say what a push of up to ${limits.itemsPerPushMax} ${kind.plural} would do, and do nothing`,
    description:
      'Takes the body of the push and answers what the push would answer now, and what would become of each item. ' +
      'Nothing is written, counted or announced.',
    scope: kind.write,
    subject: kind.plan,
    takesItems: true,
    body: {
      schema: Type.Object(properties, { title: `Plan${kind.tag}` }),
      example: { [kind.plural]: [kind.example.item], assume: [] },
    },
    answer: { status: 200, schema: isBatch ? BatchPlanAnswer : PlanAnswer, example },
    timeoutMs: pushTimeoutMs,
  };
}

function listRoute(kind: RecordKind): Route {
  return {
    method: 'GET',
    path: `${basePath}/${kind.plural}`,
    operationId: `list${kind.tag}`,
    tag: kind.tag,
    summary: `List the ${kind.plural} that were synced`,
    scope: kind.read,
    subject: kind.list,
    query: [page, limit, since, changedSince, until, externalIds, details, cursor],
    answer: {
      status: 200,
      schema: listingOf(
        detailedEntityOf(kind.item, kind.linked, {
          title: `Listed${kind.name}`,
          erasable: kind.plural === 'suppliers',
        }),
        `${kind.tag}Listing`,
      ),
      example: listingExample({
        externalId: kind.example.item.externalId,
        internalId: kind.example.internalId,
        name: kind.example.listedAs,
        syncStatus: 'SYNCED',
        lastSyncedAt: syncedAtExample,
      }),
      headers: ['X-Next-Since', 'Link'],
    },
    timeoutMs: listTimeoutMs,
  };
}

const linkedId = (description: string) =>
  Type.Unsafe<string | null>({ type: ['string', 'null'], description });

const supplierKind: RecordKind = {
  plural: 'suppliers',
  tag: 'Suppliers',
  name: 'Supplier',
  item: Supplier,
  linked: {},
  example: supplierExample,
  write: scopes.suppliersWrite,
  read: scopes.suppliersRead,
  push: subjects.suppliersPush,
  plan: subjects.suppliersPlan,
  list: subjects.suppliersList,
};

const productKind: RecordKind = {
  plural: 'products',
  tag: 'Products',
  name: 'Product',
  item: Product,
  linked: { supplierInternalId: linkedId('The supplier that `supplierExternalId` names; null for none') },
  example: productExample,
  write: scopes.productsWrite,
  read: scopes.productsRead,
  push: subjects.productsPush,
  plan: subjects.productsPlan,
  list: subjects.productsList,
};

const batchKind: RecordKind = {
  plural: 'batches',
  tag: 'Batches',
  name: 'Batch',
  item: Batch,
  linked: { productInternalId: linkedId('The product that `productExternalId` names') },
  example: batchExample,
  write: scopes.batchesWrite,
  read: scopes.batchesRead,
  push: subjects.batchesPush,
  plan: subjects.batchesPlan,
  list: subjects.batchesList,
};

export const recordRoutes: readonly Route[] = [supplierKind, productKind, batchKind].flatMap((kind) => [
  pushRoute(kind),
  planRoute(kind),
  listRoute(kind),
]);
