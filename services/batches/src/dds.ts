// Due-diligence statements: one draft for a batch, made from the fields of the batch and its product at the time of the push.
import type { DdsEntry } from '@integration-sync/contracts';
import { derivedId, type Drafting, type Fields } from '@integration-sync/sync';
import type { ProductOrigin } from './products.ts';

export const drafting: Drafting<ProductOrigin, 'dds.created'> = {
  flag: 'autoCreateDDS',
  answerKey: 'ddsCreated',
  event: 'dds.created',
  collection: 'dds',
  idOf: (batchInternalId) => derivedId('dds', batchInternalId),
  draft({ internalId, externalId, fields }, product): DdsEntry {
    const known = {
      hsCode: product?.hsCode ?? null,
      countryOfProduction: product?.country ?? null,
      quantity: amountOf(fields),
      unit: unitOf(fields),
      // The authority issues both numbers for a submitted statement; a draft is not submitted.
      referenceNumber: null,
      verificationNumber: null,
    };
    const unknown = Object.entries(known).filter(([, value]) => value === null);
    return {
      ddsId: derivedId('dds', internalId),
      batchExternalId: externalId,
      batchInternalId: internalId,
      status: 'DRAFT',
      ...known,
      missing: [...unknown.map(([key]) => key), ...neverHeld],
    };
  },
};

/** Fields that a statement needs and that no push has. */
const neverHeld = ['geolocation', 'operator', 'productionPeriod', 'riskAssessment'];

const amountOf = ({ quantity }: Fields): number | null => (typeof quantity === 'number' ? quantity : null);
const unitOf = ({ unit }: Fields): string | null => (typeof unit === 'string' ? unit : null);
