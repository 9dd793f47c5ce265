// The rival in Fastify, one process: the JWT plugin, schemas of request and answer, Ajv for each item, and job.ts.
import jwt from '@fastify/jwt';
import { Ajv } from 'ajv';
import addFormats from 'ajv-formats';
import Fastify from 'fastify';
import { openJob, type Checked, type Supplier } from './job.ts';
import { answerSchema, supplierSchema } from './schemas.ts';
import { bodyBytesMax, itemsMax, path, settings } from './settings.ts';

const ajv = new Ajv({ allowUnionTypes: true });
addFormats.default(ajv);
const isSupplier = ajv.compile<Supplier>(supplierSchema);

function check(item: unknown): Checked {
  if (isSupplier(item)) return { supplier: item };
  const externalId = Reflect.get(Object(item), 'externalId');
  return { externalId: String(externalId ?? ''), error: ajv.errorsText(isSupplier.errors) };
}

const job = await openJob();
const app = Fastify({
  bodyLimit: bodyBytesMax,
  ajv: { customOptions: { coerceTypes: false, removeAdditional: false } },
});
await app.register(jwt, { secret: settings.secret, verify: { algorithms: ['HS256'] } });
app.addHook('onRequest', async (request) => {
  await request.jwtVerify();
});
app.post<{ Body: { suppliers: unknown[] } }>(
  path,
  {
    schema: {
      body: {
        type: 'object',
        required: ['suppliers'],
        properties: { suppliers: { type: 'array', maxItems: itemsMax } },
      },
      response: { 200: answerSchema },
    },
  },
  async (request) => {
    const integration = String(Reflect.get(Object(request.user), 'integration_id'));
    return job.push(integration, request.body.suppliers.map(check));
  },
);
const address = await app.listen({ host: '127.0.0.1', port: 0 });
process.on('disconnect', () => process.exit());
process.send?.(address);
