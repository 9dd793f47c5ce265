// A supplier, as a caller pushes it. The right values of a field: fields.ts.
import { Type } from 'typebox';
import {
  optionalCountry,
  optionalEmail,
  optionalFlag,
  optionalText,
  optionalTexts,
  requiredText,
  upsertKey,
} from './fields.ts';
import { limits } from './limits.ts';

export const Supplier = Type.Object(
  {
    externalId: upsertKey("Unique identifier in the caller's system; the upsert key"),
    name: requiredText('Supplier or vendor name', 'Supplier name is required'),
    code: optionalText('Vendor number or code'),
    country: optionalCountry('ISO 3166-1 alpha-2 country code'),
    address: optionalText('Full address', limits.addressCharactersMax),
    contactPerson: optionalText('Primary contact name'),
    email: optionalEmail('Contact email'),
    phone: optionalText('Contact phone'),
    certifications: optionalTexts('List of certifications'),
    isEuOrigin: optionalFlag('Whether the supplier is EU-based'),
  },
  { title: 'Supplier' },
);
