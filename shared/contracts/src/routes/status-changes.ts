// The routes by which records are archived, and suppliers erased.
import { limits } from '../limits.ts';
import { scopes, type Scope } from '../scopes.ts';
import { ArchiveAnswer, EraseAnswer, NamedRecords } from '../status-changes.ts';
import { subjects, type RequestSubject } from '../subjects.ts';
import { batchExample, productExample, supplierExample, type RecordExample } from './examples.ts';
import { basePath, pushTimeoutMs, type Route } from './route.ts';

interface Archiving {
  plural: 'suppliers' | 'products' | 'batches';
  tag: Route['tag'];
  scope: Scope;
  subject: RequestSubject;
  example: RecordExample;
}

const answerExample = (counted: object, { item, internalId }: RecordExample, status: string) => ({
  success: true,
  ...counted,
  errors: [],
  records: [{ externalId: item.externalId, internalId, status }],
});

const archiveRoute = ({ plural, tag, scope, subject, example }: Archiving): Route => ({
  method: 'POST',
  path: `${basePath}/${plural}/archive`,
  operationId: `archive${tag}`,
  tag,
  summary: `Archive up to ${limits.itemsPerPushMax} ${plural}`,
  description:
    'An archived record stays listed, as ARCHIVED, and can still be referred to. A push of its id restores it. ' +
    'An id that names no record becomes that id’s ERROR and leaves its neighbours alone.',
  scope,
  subject,
  takesItems: true,
  body: { schema: NamedRecords, example: { externalIds: [example.item.externalId] } },
  answer: {
    status: 200,
    schema: ArchiveAnswer,
    example: answerExample({ archived: 1 }, example, 'ARCHIVED'),
    headers: ['X-Sync-Id'],
  },
  timeoutMs: pushTimeoutMs,
});

const eraseSuppliers: Route = {
  method: 'POST',
  path: `${basePath}/suppliers/erase`,
  operationId: 'eraseSuppliers',
  tag: 'Suppliers',
  summary: `Erase up to ${limits.itemsPerPushMax} suppliers, as for personal data`,
  description:
    'All that a supplier holds is removed, its externalId as well. Its internalId stays listed, as ERASED; nothing can ' +
    'refer to it from a second later on. It cannot be undone: a push of its id begins with no fields, under the same ' +
    'internalId.',
  scope: scopes.suppliersErase,
  subject: subjects.suppliersErase,
  takesItems: true,
  body: { schema: NamedRecords, example: { externalIds: [supplierExample.item.externalId] } },
  answer: {
    status: 200,
    schema: EraseAnswer,
    example: answerExample({ erased: 1 }, supplierExample, 'ERASED'),
    headers: ['X-Sync-Id'],
  },
  timeoutMs: pushTimeoutMs,
};

export const statusChangeRoutes: readonly Route[] = [
  archiveRoute({
    plural: 'suppliers',
    tag: 'Suppliers',
    scope: scopes.suppliersWrite,
    subject: subjects.suppliersArchive,
    example: supplierExample,
  }),
  archiveRoute({
    plural: 'products',
    tag: 'Products',
    scope: scopes.productsWrite,
    subject: subjects.productsArchive,
    example: productExample,
  }),
  archiveRoute({
    plural: 'batches',
    tag: 'Batches',
    scope: scopes.batchesWrite,
    subject: subjects.batchesArchive,
    example: batchExample,
  }),
  eraseSuppliers,
];
