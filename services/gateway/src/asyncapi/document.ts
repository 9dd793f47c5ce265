// The description of the messages of this system, AsyncAPI 3.0, made from the contracts: what internal services read from
// JetStream and ask over NATS, and what webhooks receive. The gateway serves it as `/asyncapi.json`, and `npm run asyncapi`
// writes it.
import manifest from '../../package.json' with { type: 'json' };
import {
  announcedKinds,
  eventBatchesNoun,
  eventBatchesStreamSpec,
  eventBodyOf,
  eventData,
  eventKinds,
  eventsStreamSpec,
  integrationPattern,
  packEventBatches,
  requestHeaders,
  routes,
  subjects,
  type EventKind,
} from '@integration-sync/contracts';
import { bodyExampleOf, deliveryHeaders, eventIdExample } from '../openapi/deliveries.ts';
import type { Json, JsonObject } from '../openapi/model.ts';
import { collectSchemas, type SchemaCollection } from '../openapi/schemas.ts';

export function describeMessages(): JsonObject {
  const schemas = collectSchemas();
  const parts = [
    describeEvents(schemas),
    describeLog(),
    describeQuestions(schemas),
    describeWebhooks(schemas),
  ];
  const all = (section: keyof Part): JsonObject =>
    Object.assign({}, ...parts.map((part) => part[section] ?? {}));
  return {
    asyncapi: '3.0.0',
    info: { title: 'Integration Sync Service', version: manifest.version, description: introduction },
    defaultContentType: 'application/json',
    servers: { nats: { host: 'nats:4222', protocol: 'nats', description: 'NATS with JetStream' } },
    channels: all('channels'),
    operations: all('operations'),
    components: {
      securitySchemes: {
        natsLogin: {
          type: 'userPassword',
          description: 'The login of a service, where NATS has users (deploy/nats).',
        },
        signature: {
          type: 'httpApiKey',
          name: 'webhook-signature',
          in: 'header',
          description: 'A receiver verifies the signature with the secret of its webhook.',
        },
      },
      messages: all('messages'),
      schemas: Object.fromEntries(Object.entries(schemas.named).toSorted(([a], [b]) => (a < b ? -1 : 1))),
    },
  };
}

interface Part {
  channels: JsonObject;
  operations: JsonObject;
  messages: JsonObject;
}

interface Message {
  name: string;
  summary: string;
  contentType?: string;
  headers: Readonly<Record<string, Header>>;
  payload: JsonObject;
  example: Json;
}

interface Header {
  description: string;
  example: string;
  optional?: true;
}

const header = (description: string, example: string): Header => ({ description, example });
const refer = (...path: string[]): JsonObject => ({ $ref: `#/${path.join('/')}` });

/** The name of its message: `supplier.created` as `SupplierCreated`. */
export const messageOf = (kind: string): string =>
  kind.replaceAll(/(?:^|[.-])(\w)/g, (_, letter: string) => letter.toUpperCase());

function describeMessage({ name, summary, contentType, headers, payload, example }: Message): JsonObject {
  const required = Object.keys(headers).filter((one) => headers[one]?.optional !== true);
  return {
    name,
    title: name,
    summary,
    ...(contentType === undefined ? {} : { contentType }),
    headers: {
      type: 'object',
      required,
      properties: Object.fromEntries(
        Object.entries(headers).map(([one, { description }]) => [one, { type: 'string', description }]),
      ),
    },
    payload,
    examples: [
      {
        name: 'example',
        summary: 'An example',
        headers: Object.fromEntries(Object.entries(headers).map(([one, value]) => [one, value.example])),
        payload: example,
      },
    ],
  };
}

const integration: JsonObject = {
  description: `The integration: ${integrationPattern}`,
  examples: ['acme'],
};

const traceparent: Header = {
  ...header(
    'W3C Trace Context, where the push belongs to a trace.',
    '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  ),
  optional: true,
};

/** A channel of one message, and the operation by which this system sends it. */
function sentOn(channel: string, message: string, summary: string): Pick<Part, 'operations'> {
  return {
    operations: {
      [`send${message}`]: {
        action: 'send',
        channel: refer('channels', channel),
        summary,
        security: [refer('components', 'securitySchemes', 'natsLogin')],
        messages: [refer('channels', channel, 'messages', message)],
      },
    },
  };
}

const plain = (value: unknown): Json => JSON.parse(JSON.stringify(value));

/** What a stream is, in words: its settings are an operator's. */
const inWords = ({ name, description }: { name: string; description: string }): string =>
  `Stored in the JetStream stream \`${name}\`: ${description}.`;

function describeEvents(schemas: SchemaCollection): Part {
  const rows = eventKinds.map((kind) => {
    const name = messageOf(kind);
    const message = describeMessage({
      name,
      summary: `An event of the kind ${kind}`,
      headers: {
        'Nats-Msg-Id': header('The event: tell duplicates by it.', eventIdExample),
        [requestHeaders.traceparent]: traceparent,
      },
      payload: schemas.use(eventBodyOf(kind, eventData[kind])),
      example: plain(bodyExampleOf(kind)),
    });
    const channel = {
      address: `events.{integration}.${kind}`,
      title: kind,
      description: inWords(eventsStreamSpec({})),
      servers: [refer('servers', 'nats')],
      parameters: { integration },
      messages: { [name]: refer('components', 'messages', name) },
    };
    return { name, message, channel, sent: sentOn(`events${name}`, name, `Announced on ${kind}`) };
  });
  return {
    channels: Object.fromEntries(rows.map(({ name, channel }) => [`events${name}`, channel])),
    operations: Object.assign({}, ...rows.map(({ sent }) => sent.operations)),
    messages: Object.fromEntries(rows.map(({ name, message }) => [name, message])),
  };
}

/** The events of one push as one message: what webhooks reads. Its format is event-batches.ts of the contracts. */
function describeLog(): Part {
  const kind: EventKind = 'supplier.created';
  const [packed] = packEventBatches({
    announcer: 'catalog',
    integration: 'acme',
    events: [{ id: eventIdExample, body: JSON.stringify(bodyExampleOf(kind)) }],
    places: [{ sequence: 4_711, duplicate: false }],
  });
  return {
    channels: {
      eventBatches: {
        address: `${eventBatchesNoun}.{announcer}.{integration}`,
        title: 'Event batches',
        description: `${inWords(eventBatchesStreamSpec({}))} Of this system alone: its format may change.`,
        servers: [refer('servers', 'nats')],
        parameters: {
          announcer: {
            description: 'Who writes it; `replay`: what one webhook is to get again, which is no event',
            enum: [...Object.keys(announcedKinds), 'replay'],
          },
          integration,
        },
        messages: { EventBatch: refer('components', 'messages', 'EventBatch') },
      },
    },
    ...sentOn('eventBatches', 'EventBatch', 'Announced after the events of a push'),
    messages: {
      EventBatch: describeMessage({
        name: 'EventBatch',
        summary: 'The events of a push, in lines',
        contentType: 'text/plain',
        headers: {
          'Nats-Msg-Id': header('Made of its events.', packed?.id ?? ''),
          [requestHeaders.traceparent]: traceparent,
        },
        payload: { type: 'string' },
        example: packed?.body ?? '',
      }),
    },
  };
}

/** The listings of records, which other services ask for over NATS. */
function describeQuestions(schemas: SchemaCollection): Part {
  const listed = new Set<string>([subjects.suppliersList, subjects.productsList, subjects.batchesList]);
  const rows = routes.filter(({ subject }) => listed.has(subject));
  const channels: Record<string, JsonObject> = {};
  const operations: Record<string, JsonObject> = {};
  const messages: Record<string, JsonObject> = {};
  for (const { operationId, subject, summary, answer } of rows) {
    const asked = `${messageOf(operationId)}Question`;
    const answered = `${messageOf(operationId)}Answer`;
    messages[asked] = describeMessage({
      name: asked,
      summary,
      headers: {
        [requestHeaders.integration]: header('Whose records.', 'acme'),
        [requestHeaders.query]: {
          ...header(
            'As the query of the HTTP interface, without its question mark.',
            'limit=100&details=true',
          ),
          optional: true,
        },
      },
      payload: { type: 'string', maxLength: 0, description: 'Empty' },
      example: '',
    });
    messages[answered] = describeMessage({
      name: answered,
      summary: 'The answer, as the HTTP interface has it',
      headers: { status: header('The HTTP status; a failure has the header `failure` as well.', '200') },
      payload: answer.schema === undefined ? {} : schemas.use(answer.schema),
      example: plain(answer.example),
    });
    channels[operationId] = {
      address: subject,
      title: summary,
      description: 'Request and reply; any replica answers.',
      servers: [refer('servers', 'nats')],
      messages: { [asked]: refer('components', 'messages', asked) },
    };
    channels[`${operationId}Reply`] = {
      description: 'The reply subject of the question.',
      servers: [refer('servers', 'nats')],
      messages: { [answered]: refer('components', 'messages', answered) },
    };
    operations[`answer${messageOf(operationId)}`] = {
      action: 'receive',
      channel: refer('channels', operationId),
      summary,
      security: [refer('components', 'securitySchemes', 'natsLogin')],
      messages: [refer('channels', operationId, 'messages', asked)],
      reply: {
        address: { location: '$message.header#/reply', description: 'The reply subject of NATS' },
        channel: refer('channels', `${operationId}Reply`),
        messages: [refer('channels', `${operationId}Reply`, 'messages', answered)],
      },
    };
  }
  return { channels, operations, messages };
}

/** What webhooks post to a receiver. */
function describeWebhooks(schemas: SchemaCollection): Part {
  const headers = Object.fromEntries(
    Object.values(deliveryHeaders).map(({ name, description, example }) => [name, { description, example }]),
  );
  const rows = eventKinds.map((kind) => {
    const name = `${messageOf(kind)}Delivery`;
    const message = describeMessage({
      name,
      summary: `Posted to a webhook on ${kind}`,
      headers: { ...headers, 'X-Webhook-Event': header('The kind of the event.', kind) },
      payload: schemas.use(eventBodyOf(kind, eventData[kind])),
      example: plain(bodyExampleOf(kind)),
    });
    return { name, message };
  });
  return {
    channels: {
      webhooks: {
        title: 'Webhooks',
        description: 'The url of a webhook, as its registration has it.',
        messages: Object.fromEntries(rows.map(({ name }) => [name, refer('components', 'messages', name)])),
      },
    },
    operations: {
      deliver: {
        action: 'send',
        channel: refer('channels', 'webhooks'),
        summary: 'At least once; any 2xx within 10 seconds acknowledges the delivery',
        security: [refer('components', 'securitySchemes', 'signature')],
        bindings: { http: { method: 'POST', bindingVersion: '0.3.0' } },
        messages: rows.map(({ name }) => refer('channels', 'webhooks', 'messages', name)),
      },
    },
    messages: Object.fromEntries(rows.map(({ name, message }) => [name, message])),
  };
}

const introduction = `What this system says by messages. Internal services read the stream of events and ask for records over NATS; receivers outside get events as webhooks, or read them by \`GET /events\` of the HTTP interface (\`/openapi.json\`).

Every event is announced at least once, with the same id each time. Within v1 there are only additions: kinds of events, fields, headers. Ignore what you do not know.`;
