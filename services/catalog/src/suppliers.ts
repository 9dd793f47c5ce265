// The declaration of suppliers for the push and listing engine.
import { Supplier } from '@integration-sync/contracts';
import type { Kind } from '@integration-sync/sync';

export const suppliers: Kind = {
  entityType: 'supplier',
  plural: 'suppliers',
  idPrefix: 'sup',
  schema: Supplier,
  nameField: 'name',
};
