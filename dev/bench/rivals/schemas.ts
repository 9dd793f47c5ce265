// The JSON Schemas of suppliers and answers for the rivals.

const text = (maxLength: number) => ({ type: ['string', 'null'], maxLength });

export const supplierSchema = {
  type: 'object',
  required: ['externalId', 'name'],
  properties: {
    externalId: { type: 'string', minLength: 1, maxLength: 255 },
    name: { type: 'string', minLength: 1, maxLength: 500 },
    code: text(500),
    country: { type: ['string', 'null'], pattern: '^[A-Za-z]{2}$' },
    address: text(1_000),
    contactPerson: text(500),
    email: { type: ['string', 'null'], maxLength: 500, format: 'email' },
    phone: text(500),
    certifications: { type: ['array', 'null'], maxItems: 100, items: { type: 'string', maxLength: 500 } },
    isEuOrigin: { type: ['boolean', 'null'] },
  },
};

const ofTexts = (...names: string[]) => ({
  type: 'object',
  properties: Object.fromEntries(names.map((name) => [name, { type: 'string' }])),
});

export const answerSchema = {
  type: 'object',
  properties: {
    success: { type: 'boolean' },
    created: { type: 'integer' },
    updated: { type: 'integer' },
    errors: { type: 'array', items: ofTexts('externalId', 'error') },
    records: { type: 'array', items: ofTexts('externalId', 'internalId', 'status') },
  },
};
