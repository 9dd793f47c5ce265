// The schema of a supplier in Zod: the documentation of NestJS 12 names Zod first, and Zod is several times as fast as
// the decorators of class-validator.
import { z } from 'zod';

const text = (max: number) => z.string().max(max).nullish();

export const SupplierSchema = z.object({
  externalId: z.string().min(1).max(255),
  name: z.string().min(1).max(500),
  code: text(500),
  country: z.stringFormat('country', /^[A-Za-z]{2}$/).nullish(),
  address: text(1_000),
  contactPerson: text(500),
  email: z.email().max(500).nullish(),
  phone: text(500),
  certifications: z.array(z.string().max(500)).max(100).nullish(),
  isEuOrigin: z.boolean().nullish(),
});
