// The AsyncAPI 3.0 document of the messages of this system, made from the contracts. The gateway serves the document as
// `/asyncapi.json`, and `npm run openapi` writes the document to a file.
import manifest from '../../package.json' with { type: 'json' };
import {
  announcedKinds,
  codes,
  eventBatchesNoun,
  eventBatchesStreamSpec,
  eventBodyOf,
  eventData,
  eventKinds,
  eventsStreamSpec,
  eventVersion,
  eventVersionHeader,
  integrationPattern,
  packEventBatches,
  pinnableSubjects,
  pinnedSubject,
  replyHeaders,
  requestHeaders,
  routes,
  type Route,
} from '@integration-sync/contracts';
import { bodyExampleOf, deliveryHeaders, eventIdExample } from '../openapi/deliveries.ts';
import { inPascalCase, objectOf, plain, type JsonObject } from '../openapi/model.ts';
import { collectSchemas, type SchemaCollection } from '../openapi/schemas.ts';

export { inPascalCase };

/** The sections of the document, to which each part of the system adds. */
interface Sections {
  channels: Record<string, JsonObject>;
  operations: Record<string, JsonObject>;
  messages: Record<string, JsonObject>;
  schemas: SchemaCollection;
}

export function describeMessages(): JsonObject {
  const sections: Sections = { channels: {}, operations: {}, messages: {}, schemas: collectSchemas() };
  addEvents(sections);
  addEventBatches(sections);
  addQuestions(sections);
  addWebhooks(sections);
  const { channels, operations, messages, schemas } = sections;
  return {
    asyncapi: '3.0.0',
    info: { title: 'Integration Sync Service', version: manifest.version, description: introduction },
    defaultContentType: 'application/json',
    servers: { nats: { host: 'nats:4222', protocol: 'nats', description: 'NATS with JetStream' } },
    channels,
    operations,
    components: {
      securitySchemes: {
        natsLogin: {
          type: 'userPassword',
          description: 'The login of a service, if NATS has users (deploy/nats).',
        },
        signature: {
          type: 'httpApiKey',
          name: 'webhook-signature',
          in: 'header',
          description: 'A receiver verifies the signature with the secret of its webhook.',
        },
      },
      messages,
      schemas: schemas.inOrder(),
    },
  };
}

interface Message {
  summary: string;
  contentType?: string;
  headers: Readonly<Record<string, Header>>;
  payload: JsonObject;
  example: unknown;
}

interface Header {
  description: string;
  example: string;
  optional?: true;
}

const header = (description: string, example: string): Header => ({ description, example });
const optionalHeader = (description: string, example: string): Header => ({
  ...header(description, example),
  optional: true,
});
const refer = (...path: string[]): JsonObject => ({ $ref: `#/${path.join('/')}` });
const onNats = [refer('servers', 'nats')];

/** Adds a message to the document, and returns the reference with which its channel names the message. */
function addMessage({ messages }: Sections, name: string, message: Message): JsonObject {
  const { summary, contentType, headers, payload, example } = message;
  const entries = Object.entries(headers);
  messages[name] = {
    name,
    title: name,
    summary,
    ...(contentType === undefined ? {} : { contentType }),
    headers: {
      type: 'object',
      required: entries.filter(([, { optional }]) => optional === undefined).map(([one]) => one),
      properties: Object.fromEntries(
        entries.map(([one, { description }]) => [one, { type: 'string', description }]),
      ),
    },
    payload,
    examples: [
      {
        name: 'example',
        summary: 'An example',
        headers: Object.fromEntries(entries.map(([one, value]) => [one, value.example])),
        payload: plain(example),
      },
    ],
  };
  return { [name]: refer('components', 'messages', name) };
}

/** An operation of this system on the only message of a channel. */
const operationOn = (action: 'send' | 'receive', channel: string, message: string, summary: string) => ({
  action,
  channel: refer('channels', channel),
  summary,
  security: [refer('components', 'securitySchemes', 'natsLogin')],
  messages: [refer('channels', channel, 'messages', message)],
});

const integration: JsonObject = {
  description: `The integration: ${integrationPattern}`,
  examples: ['acme'],
};

const traceparent = optionalHeader(
  'W3C Trace Context, if the push belongs to a trace.',
  '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
);

/** Describes a stream in a sentence, without its settings, which only operators need. */
const inWords = ({ name, description }: { name: string; description: string }): string =>
  `Stored in the JetStream stream \`${name}\`: ${description}.`;

function addEvents(sections: Sections): void {
  for (const kind of eventKinds) {
    const name = inPascalCase(kind);
    sections.channels[`events${name}`] = {
      address: `events.{integration}.${kind}`,
      title: kind,
      description: inWords(eventsStreamSpec({})),
      servers: onNats,
      parameters: { integration },
      messages: addMessage(sections, name, {
        summary: `An event of the kind ${kind}`,
        headers: {
          'Nats-Msg-Id': header('The event: tell duplicates by it.', eventIdExample),
          [requestHeaders.traceparent]: traceparent,
          [eventVersionHeader]: optionalHeader(
            'The version of the schema. Within a version kinds and fields are only added; without the header it is 1.',
            eventVersion,
          ),
        },
        payload: sections.schemas.use(eventBodyOf(kind, eventData[kind])),
        example: bodyExampleOf(kind),
      }),
    };
    sections.operations[`send${name}`] = operationOn('send', `events${name}`, name, `Announced on ${kind}`);
  }
}

/** Adds the event batch: the events of one push as one message for webhooks, in the format of contracts/event-batches.ts. */
function addEventBatches(sections: Sections): void {
  const [packed] = packEventBatches({
    announcer: 'catalog',
    integration: 'acme',
    events: [{ id: eventIdExample, body: JSON.stringify(bodyExampleOf('supplier.created')) }],
    acks: [{ sequence: 4_711, duplicate: false }],
  });
  sections.channels['eventBatches'] = {
    address: `${eventBatchesNoun}.{announcer}.{integration}`,
    title: 'Event batches',
    description: `${inWords(eventBatchesStreamSpec({}))} Only this system reads them: the format may change.`,
    servers: onNats,
    parameters: {
      announcer: {
        description: 'The service that writes the batch; `replay`: events that one webhook gets again',
        enum: [...Object.keys(announcedKinds), 'replay'],
      },
      integration,
    },
    messages: addMessage(sections, 'EventBatch', {
      summary: 'The events of a push, in lines',
      contentType: 'text/plain',
      headers: {
        'Nats-Msg-Id': header('Made of the ids of the events.', packed?.id ?? ''),
        [requestHeaders.traceparent]: traceparent,
      },
      payload: { type: 'string' },
      example: packed?.body ?? '',
    }),
  };
  sections.operations['sendEventBatch'] = operationOn(
    'send',
    'eventBatches',
    'EventBatch',
    'Announced after the events of a push',
  );
}

const query = optionalHeader(
  'As the query of the HTTP interface, without its question mark.',
  'limit=100&details=true',
);

/** Adds the listings that other services request over NATS: of any integration, or only of the integration in the subject. */
function addQuestions(sections: Sections): void {
  const failure = addFailure(sections);
  for (const route of routes) {
    if (!pinnableSubjects.some((one) => one === route.subject)) continue;
    const replies = `${route.operationId}Reply`;
    const answers = { ...addAnswer(sections, route), ...failure };
    sections.channels[replies] = {
      description: 'The reply subject of the question.',
      servers: onNats,
      messages: answers,
    };
    const reply = {
      address: { location: '$message.header#/reply', description: 'The reply subject of NATS' },
      channel: refer('channels', replies),
      messages: Object.keys(answers).map((one) => refer('channels', replies, 'messages', one)),
    };
    addQuestion(sections, route, reply, false);
    addQuestion(sections, route, reply, true);
  }
}

function addQuestion(
  sections: Sections,
  { operationId, subject, summary }: Route,
  reply: JsonObject,
  isOfOne: boolean,
): void {
  const channel = isOfOne ? `${operationId}OfOne` : operationId;
  const name = inPascalCase(channel);
  const asked = `${name}Question`;
  const ofAny = header('The integration whose records are asked for.', 'acme');
  sections.channels[channel] = {
    address: isOfOne ? pinnedSubject(subject, '{integration}') : subject,
    title: summary,
    description: isOfOne
      ? 'Request and reply; any replica answers. The integration in the subject wins over a header.'
      : 'Request and reply; any replica answers.',
    servers: onNats,
    ...(isOfOne ? { parameters: { integration } } : {}),
    messages: addMessage(sections, asked, {
      summary,
      headers: { ...(isOfOne ? {} : { [requestHeaders.integration]: ofAny }), query },
      payload: { type: 'string', maxLength: 0, description: 'Empty' },
      example: '',
    }),
  };
  sections.operations[`answer${name}`] = {
    ...operationOn('receive', channel, asked, summary),
    reply,
  };
}

const addAnswer = (sections: Sections, { operationId, answer }: Route): JsonObject =>
  addMessage(sections, `${inPascalCase(operationId)}Answer`, {
    summary: 'The answer, as the HTTP interface has it',
    headers: {
      [replyHeaders.status]: header('The HTTP status.', String(answer.status)),
      ...Object.fromEntries(
        ['Link', ...(answer.headers ?? [])].map((one) => [
          `${replyHeaders.httpPrefix}${one.toLowerCase()}`,
          optionalHeader(`The header ${one} of the HTTP interface.`, exampleOfHeader[one] ?? ''),
        ]),
      ),
    },
    payload: answer.schema === undefined ? {} : sections.schemas.use(answer.schema),
    example: answer.example,
  });

const exampleOfHeader: Readonly<Record<string, string>> = {
  Link: '</api/v1/integration/suppliers?cursor=…>; rel="next"',
  'X-Next-Since': '2026-11-21T18:36:11.000Z',
};

const addFailure = (sections: Sections): JsonObject =>
  addMessage(sections, 'Failure', {
    summary: 'The question was refused, or could not be answered',
    headers: {
      [replyHeaders.status]: header('The HTTP status.', '400'),
      [replyHeaders.failure]: header(`The code: ${Object.keys(codes).join(', ')}.`, 'invalid_request'),
      [replyHeaders.serviceError]: header(
        'The detail in one line of ASCII, of 200 characters at most.',
        'page: expected a whole number from 1',
      ),
      [replyHeaders.serviceErrorCode]: header('The HTTP status, for clients of the micro protocol.', '400'),
    },
    payload: objectOf(
      {
        detail: { type: 'string' },
        errors: {
          type: 'array',
          items: objectOf({ pointer: { type: 'string' }, detail: { type: 'string' } }),
        },
        retryAfterSeconds: {
          type: 'number',
          description: 'After so many seconds the question may be asked again',
        },
      },
      ['detail'],
    ),
    example: { detail: 'page: expected a whole number from 1' },
  });

function addWebhooks(sections: Sections): void {
  const headers = Object.fromEntries(
    Object.values(deliveryHeaders).map(({ name, description, example }) => [name, { description, example }]),
  );
  const messages: JsonObject = Object.assign(
    {},
    ...eventKinds.map((kind) =>
      addMessage(sections, `${inPascalCase(kind)}Delivery`, {
        summary: `Posted to a webhook on ${kind}`,
        headers: { ...headers, 'X-Webhook-Event': header('The kind of the event.', kind) },
        payload: sections.schemas.use(eventBodyOf(kind, eventData[kind])),
        example: bodyExampleOf(kind),
      }),
    ),
  );
  sections.channels['webhooks'] = {
    title: 'Webhooks',
    description: 'The url of a webhook, as its registration has it.',
    messages,
  };
  sections.operations['deliver'] = {
    action: 'send',
    channel: refer('channels', 'webhooks'),
    summary: 'At least once; any 2xx within 10 seconds acknowledges the delivery',
    security: [refer('components', 'securitySchemes', 'signature')],
    bindings: { http: { method: 'POST', bindingVersion: '0.3.0' } },
    messages: Object.keys(messages).map((name) => refer('channels', 'webhooks', 'messages', name)),
  };
}

const introduction = `The messages of this system. Internal services read the stream of events and ask for records over NATS; receivers outside get events as webhooks, or read them by \`GET /events\` of the HTTP interface (\`/openapi.json\`).

Every event is announced at least once, with the same id each time. Within v1 there are only additions: kinds of events, fields, headers. Ignore what you do not know.`;
