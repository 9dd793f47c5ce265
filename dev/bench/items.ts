// The items that benchmarks push, and their path: suppliers with every field, as ordinary callers have them.
import { randomUUID } from 'node:crypto';
import { basePath } from '@integration-sync/contracts';

export const itemsPerPush = 500;
export const suppliersPath = `${basePath}/suppliers`;

export type SupplierItem = ReturnType<typeof makeItems>[number];

export const makeItems = (prefix: string, count = itemsPerPush) =>
  Array.from({ length: count }, (_, index) => ({
    externalId: `${prefix}-${index}`,
    name: `Supplier ${prefix} ${index}`,
    code: `V-${index}`,
    country: 'SE',
    address: 'Hamngatan 1, 111 47 Stockholm',
    contactPerson: 'Anna Lind',
    email: 'anna@nordictimber.example',
    phone: '+46 8 123 456',
    certifications: ['FSC', 'PEFC'],
    isEuOrigin: true,
  }));

export const pushBody = (items: readonly object[]): Buffer =>
  Buffer.from(JSON.stringify({ suppliers: items }));

/** Events as the catalog service publishes them. The data of each has the fields of `more`, too. */
export const makeEvents = (integration: string, count: number, more: object = {}) =>
  Array.from({ length: count }, (_, n) => ({
    subject: `events.${integration}.supplier.created`,
    id: randomUUID(),
    body: JSON.stringify({
      event: 'supplier.created',
      timestamp: new Date().toISOString(),
      integrationId: integration,
      data: { externalId: `SUP-${n}`, internalId: 'sup_3f1c0a52b7d94e6f8a21c5d07e9b4413', ...more },
    }),
  }));
