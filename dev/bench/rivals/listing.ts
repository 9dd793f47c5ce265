// A plain Fastify process that lists the collection of catalog in order of creation, with token, validation and a counted
// total.
import jwt from '@fastify/jwt';
import Fastify from 'fastify';
import { MongoClient } from 'mongodb';
import { listingSchema } from './schemas.ts';
import { path, settings } from './settings.ts';

interface SupplierDocument {
  _id: string;
  integration: string;
  externalId: string;
  fields: { name: string };
  order: string;
  lastSyncedAt: Date;
}

interface Query {
  page: number;
  limit: number;
  since?: string;
}

const client = new MongoClient(settings.mongodb);
const suppliers = client.db(settings.database).collection<SupplierDocument>('suppliers');

const app = Fastify();
await app.register(jwt, { secret: settings.secret, verify: { algorithms: ['HS256'] } });
app.addHook('onRequest', async (request) => {
  await request.jwtVerify();
});
app.get<{ Querystring: Query }>(
  path,
  {
    schema: {
      querystring: {
        type: 'object',
        properties: {
          page: { type: 'integer', minimum: 1, default: 1 },
          limit: { type: 'integer', minimum: 1, maximum: 100, default: 50 },
          since: { type: 'string', format: 'date-time' },
        },
      },
      response: { 200: listingSchema },
    },
  },
  async (request) => {
    const integration = String(Reflect.get(Object(request.user), 'integration_id'));
    const { page, limit, since } = request.query;
    const matching = {
      integration,
      ...(since === undefined ? {} : { lastSyncedAt: { $gt: new Date(since) } }),
    };
    const [total, found] = await Promise.all([
      suppliers.countDocuments(matching),
      suppliers
        .find(matching, { projection: { externalId: 1, 'fields.name': 1, lastSyncedAt: 1 } })
        .sort({ integration: 1, order: 1 })
        .skip((page - 1) * limit)
        .limit(limit)
        .toArray(),
    ]);
    const entities = found.map(({ _id, externalId, fields, lastSyncedAt }) => ({
      externalId,
      internalId: _id,
      name: fields.name,
      syncStatus: 'SYNCED',
      lastSyncedAt: lastSyncedAt.toISOString(),
    }));
    return { entities, total, page, limit };
  },
);
const address = await app.listen({ host: '127.0.0.1', port: 0 });
process.on('disconnect', () => process.exit());
process.send?.(address);
