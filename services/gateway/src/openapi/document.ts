// The OpenAPI 3.1 document of the whole interface, made from the route table. The gateway serves the document as
// `/openapi.json`, and `npm run openapi` writes the document to a file.
import manifest from '../../package.json' with { type: 'json' };
import { limits, routes } from '@integration-sync/contracts';
import { deliveryExample, runExample, webhookExample } from '@integration-sync/contracts/examples';
import { deliveryHeaders, describeDeliveries } from './deliveries.ts';
import { gatewayPages, type GatewayPagesOptions } from './gateway-pages.ts';
import { describeHeaders } from './answer-headers.ts';
import { parameterOf, reference, type JsonObject, type Operation } from './model.ts';
import { describeRoute } from './operations.ts';
import { describeRefusals } from './error-answers.ts';
import { collectSchemas } from './schemas.ts';
import { oauth2Scheme } from './token-endpoint.ts';

export interface DescriptionOptions extends Partial<GatewayPagesOptions> {
  /** The prefix that callers see before the paths of the document, and that a proxy takes off. */
  publicBasePath?: string;
}

export function describeInterface(options: DescriptionOptions = {}): JsonObject {
  const { publicBasePath = '', hasTokenEndpoint = true, hasConsole = true } = options;
  const schemas = collectSchemas();
  const paths: Record<string, Record<string, JsonObject>> = {};
  const add = (path: string, method: string, operation: Operation): void => {
    (paths[path] ??= {})[method.toLowerCase()] = { ...operation };
  };
  for (const route of routes) add(route.path, route.method, describeRoute(route, schemas, hasTokenEndpoint));
  for (const { path, method, operation } of gatewayPages({ hasTokenEndpoint, hasConsole }))
    add(path, method, operation);
  const webhooks = describeDeliveries(schemas);
  const responses = usedIn(paths, describeRefusals(schemas));
  return {
    openapi: '3.1.0',
    info: { title: 'Integration Sync Service', version: manifest.version, description: introduction },
    servers: [{ url: publicBasePath || '/', description: 'Where this document was read' }],
    tags: [...tags],
    paths,
    webhooks,
    components: {
      securitySchemes: {
        accessToken: {
          type: 'http',
          scheme: 'bearer',
          bearerFormat: 'JWT',
          description:
            'An API key (`isk_…`), or a JWT with `integration_id`, `scope` and `exp`, valid for at most 24 hours.',
        },
        ...(hasTokenEndpoint ? { oauth2: oauth2Scheme(publicBasePath) } : {}),
      },
      parameters: { ...sharedParameters, ...deliveryHeaders },
      headers: describeHeaders(),
      responses,
      schemas: schemas.inOrder(),
    },
  };
}

function usedIn(paths: JsonObject, responses: Record<string, JsonObject>): JsonObject {
  const text = JSON.stringify(paths);
  return Object.fromEntries(
    Object.entries(responses).filter(([name]) => text.includes(reference('responses', name).$ref)),
  );
}

const sharedParameters: Readonly<Record<string, JsonObject>> = {
  WebhookId: parameterOf('path', 'id', 'The webhook, as its registration named it', webhookExample.id),
  EventId: parameterOf(
    'path',
    'eventId',
    'The event, as its `webhook-id` and the attempt log name it',
    deliveryExample.eventId,
  ),
  IdempotencyKey: parameterOf(
    'header',
    'Idempotency-Key',
    'Your own name for this registration, 1 to 255 printable ASCII characters, kept for 24 hours. The same body under the same key is answered with the same webhook and secret; another body, or a webhook that was deleted or rotated meanwhile, with 409.',
    'register-erp-hook-1',
  ),
  SyncId: parameterOf('path', 'id', 'The push, as `X-Sync-Id` of its answer named it', runExample.syncId),
  Prefer: parameterOf(
    'header',
    'Prefer',
    '`handling=strict` (RFC 7240) refuses names that are not known, each with the nearest known one: a query parameter or a key of the body by 400, a field of an item by that item’s ERROR. Without it they are ignored. Other preferences are ignored.',
    'handling=strict',
  ),
  RequestId: parameterOf(
    'header',
    'X-Request-Id',
    'Your own name for this request, such as order-import-7, 1 to 128 of A–Z a–z 0–9 . _ -; it comes back with the answer. Anything else is replaced.',
  ),
};

export const tags: readonly { name: string; description: string }[] = [
  { name: 'Suppliers', description: 'First in the order of syncing.' },
  { name: 'Products', description: 'Second: a product may name an already synced supplier.' },
  {
    name: 'Batches',
    description: 'Third: a batch names an already synced product. With them, due-diligence drafts.',
  },
  { name: 'Sync runs', description: 'The history of pushes.' },
  { name: 'Expectations', description: 'How often pushes are expected, and which is overdue.' },
  { name: 'Webhooks', description: 'Where events are delivered to, how it went, and sending them again.' },
  { name: 'Events', description: 'The same events by polling, for callers that cannot receive webhooks.' },
  { name: 'Service', description: 'The gateway’s own pages. They need no token, but for `/token`.' },
];

export const introduction = `Bulk synchronisation of suppliers, products and batches from an external system, listings of what was synced, and signed webhooks.

**Order.** Suppliers, then products, then batches: each may refer to what was synced before it.

**Pushes** are upserts by your own \`externalId\`, at most ${limits.itemsPerPushMax} items and ${limits.bodyBytesDefault} bytes (or the operator’s limit) each. A wrong item is reported among \`errors\` and leaves its neighbours alone; the push as a whole is still answered 200. Sending a push again is safe.

**Listings** come in order of creation, ${limits.pageSizeDefault} to a page and at most ${limits.pageSizeMax}. Follow the \`Link\` header for what comes next, and poll with \`since\` from \`X-Next-Since\`.

**Misspelt names** are ignored: fields of items, keys of most bodies, parameters. \`Prefer: handling=strict\` has them refused. Answers of 1 KiB or more are compressed where \`Accept-Encoding\` asks for it (\`gzip\`, \`br\`, \`zstd\`).

**Errors** of a whole request are \`application/problem+json\` (RFC 9457) with a stable \`code\`. Every answer carries \`X-Request-Id\`. HEAD works wherever GET does; any other method of a known path is answered 405 with \`Allow\`, an unknown path 404.

**Versioning.** Within v1 there are only additions: headers, optional inputs, kinds of events, values of enumerations. Ignore what you do not know.`;
