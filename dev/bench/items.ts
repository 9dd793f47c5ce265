// The items that benchmarks push, and their path: suppliers with every field, as ordinary callers have them.
import { basePath } from '@integration-sync/contracts';

export const itemsPerPush = 500;
export const suppliersPath = `${basePath}/suppliers`;

export interface SupplierItem {
  externalId: string;
  name: string;
  code: string;
  country: string;
  address: string;
  contactPerson: string;
  email: string;
  phone: string;
  certifications: string[];
  isEuOrigin: boolean;
}

export const makeItems = (prefix: string, count = itemsPerPush): SupplierItem[] =>
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
