// What a login of deploy/nats may reach, written by hand, and the subjects and reply subjects with which a test tries to reach
// more.
import { subjects as requests } from '@integration-sync/contracts';
import { services, users, type User } from './nats-users.ts';

const kinds = [
  'supplier.created',
  'supplier.erased',
  'product.updated',
  'sync.completed',
  'batch.created',
  'sync.overdue',
];
const moreKinds = ['dds.created', 'webhook.disabled', 'batch.archived'];
const streams = ['EVENTS', 'EVENT_BATCHES', 'ATTEMPTS', 'FOREIGN'];
const streamCommands = [
  'CREATE', 'UPDATE', 'DELETE', 'PURGE', 'INFO', 'MSG.GET', 'MSG.DELETE', 'SNAPSHOT', 'RESTORE', 'LEADER.STEPDOWN',
  'PEER.REMOVE',
]; // oxfmt-ignore
const consumerCommands = [
  'CREATE', 'DURABLE.CREATE', 'INFO', 'DELETE', 'MSG.NEXT', 'PAUSE', 'LEADER.STEPDOWN', 'UNPIN', 'RESET',
]; // oxfmt-ignore
const announcers = ['catalog', 'batches', 'webhooks', 'replay', 'nobody'];

/** Some 400 subjects: all that anything here listens to, and what is near. */
export const triedSubjects: readonly string[] = [
  ...Object.values(requests),
  ...Object.values(requests).map((subject) => `${subject}.victim`),
  ...services.flatMap((service) =>
    [
      'health.check',
      'health.notes',
      'health.keys',
      'given-up',
      'answer-now',
      'caller.x.0',
      'x',
      '>',
      '*.*',
    ].map((noun) => `svc.${service}.${noun}`),
  ),
  ...[...kinds, ...moreKinds].flatMap((kind) =>
    ['victim', '*', 'a.b'].map((integration) => `events.${integration}.${kind}`),
  ),
  ...announcers.flatMap((one) =>
    ['victim', '4.victim', '*'].map(
      (rest) => `event-batches.${rest.replace(/\.?(victim|\*)$/, `.${one}.$1`).replace(/^\./, '')}`,
    ),
  ),
  'attempts.victim',
  'attempts.victim.more',
  ...['endpoint.changed', 'replica.alive', 'replica.gone', 'partitions.given-back', 'event.delivered'].map(
    (noun) => `webhooks.${noun}`,
  ),
  ...streams.flatMap((stream) => streamCommands.map((command) => `$JS.API.STREAM.${command}.${stream}`)),
  ...streams.flatMap((stream) => [
    ...consumerCommands.flatMap((command) =>
      ['reader', 'other'].map((name) => `$JS.API.CONSUMER.${command}.${stream}.${name}`),
    ),
    `$JS.API.CONSUMER.CREATE.${stream}`,
    `$JS.API.CONSUMER.CREATE.${stream}.push.events.>`,
    `$JS.API.CONSUMER.LIST.${stream}`,
    `$JS.API.CONSUMER.NAMES.${stream}`,
    `$JS.API.DIRECT.GET.${stream}`,
    `$JS.API.DIRECT.GET.${stream}.events.victim.supplier.created`,
    `$JS.ACK.${stream}.reader.1.1.1.1700000000000000000.0`,
    `$JS.ACK.${stream}.other.1.1.1.1700000000000000000.0`,
    `$JS.FC.${stream}.reader.x`,
    `$JS.SNAPSHOT.ACK.${stream}.x`,
    `$JS.M.${stream}`,
    `$JS.S.${stream}`,
  ]),
  ...[
    'INFO',
    'STREAM.LIST',
    'STREAM.NAMES',
    'ACCOUNT.PURGE.SYNC',
    'META.LEADER.STEPDOWN',
    'SERVER.REMOVE',
  ].map((command) => `$JS.API.${command}`),
  '$JS.sync.API.STREAM.DELETE.EVENTS',
  '$JS.API.>',
  '$JS.API.STREAM.DELETE.*',
  '$KV.x.y',
  '$O.x.y',
  '$NRG.V.x',
  '$MQTT.x',
  ...[
    'SERVER.PING',
    'ACCOUNT.SYNC.INFO',
    'USER.INFO',
    'ACCOUNT.PING.CONNZ',
    'SERVER.PING.JSZ',
    'CLAIMS.DELETE',
  ].map((request) => `$SYS.REQ.${request}`),
  '$SYS.ACCOUNT.SYNC.CONNECT',
  '$SYS._INBOX.x',
  '_GR_.x.y',
  '_R_.x.y',
  '_sys_.x',
  ...['PING', 'INFO', 'STATS'].flatMap((verb) => [
    `$SRV.${verb}`,
    `$SRV.${verb}.webhooks`,
    `$SRV.${verb}.catalog.x`,
  ]),
  ...users.flatMap((user) => [`_INBOX_${user}.x.0`, `_INBOX_${user}.>`, `_INBOX_${user}`]),
  ...services.flatMap((service) =>
    ['push', 'erase', 'remove', 'list', 'replay', 'resolve', 'plan', 'archive'].map(
      (verb) => `svc.${service}.${service}.${verb}`,
    ),
  ),
  '_INBOX.x',
  '>',
  '*',
  '*.*.*.*',
  'x',
  `events.victim.${'x'.repeat(3_000)}.created`,
];

/** Some 40 reply subjects: those on which something happens. */
export const triedReplies: readonly string[] = [
  ...streams
    .slice(0, 3)
    .flatMap((stream) =>
      ['DELETE', 'PURGE', 'LEADER.STEPDOWN'].map((command) => `$JS.API.STREAM.${command}.${stream}`),
    ),
  '$JS.API.STREAM.CREATE.FOREIGN',
  '$JS.API.STREAM.UPDATE.EVENTS',
  '$JS.API.CONSUMER.DELETE.EVENTS.reader',
  '$JS.API.CONSUMER.CREATE.EVENT_BATCHES',
  '$JS.API.CONSUMER.MSG.NEXT.EVENTS.reader',
  '$JS.ACK.EVENTS.reader.1.1.1.1700000000000000000.0',
  '$JS.API.ACCOUNT.PURGE.SYNC',
  'events.victim.supplier.erased',
  'events.victim.batch.created',
  'events.victim.webhook.disabled',
  'event-batches.catalog.victim',
  'event-batches.batches.victim',
  'event-batches.webhooks.victim',
  'event-batches.4.catalog.victim',
  'attempts.victim',
  ...[
    'suppliersErase',
    'suppliersPush',
    'batchesPush',
    'endpointsRegister',
    'endpointsRemove',
    'eventsRead',
  ].map((name) => new Map(Object.entries(requests)).get(name) ?? ''),
  'svc.gateway.caller.x.0',
  'webhooks.endpoint.changed',
  '_INBOX_gateway.x.0',
  '_INBOX_webhooks.x.0',
  '_INBOX_operator.x.0',
  '$SYS.REQ.SERVER.PING',
  '$SRV.PING',
  'svc.>',
  '*.*.*.*',
  '>',
];

const ofEvents = (...entities: string[]): RegExp[] =>
  entities.map((entity) => new RegExp(`^events\\.[^.]+\\.${entity}\\.[^.]+$`));
const exactly = (...texts: string[]): RegExp[] =>
  texts.map(
    (one) =>
      new RegExp(
        `^${one.replaceAll('.', '\\.').replaceAll('*', '[^.]+').replace(/>$/, '.+').replaceAll('$', '\\$')}$`,
      ),
  );

/** What each login may have stored, and what it may ask of services other than itself. */
export const granted: Readonly<Record<User, readonly RegExp[]>> = {
  gateway: exactly(
    'svc.catalog.suppliers.*', 'svc.catalog.products.*', 'svc.catalog.runs.*', 'svc.catalog.expectations.*', 'svc.batches.batches.*', 'svc.batches.dds.*',
    'svc.batches.runs.*', 'svc.webhooks.endpoints.*', 'svc.webhooks.deliveries.*', 'svc.webhooks.events.read',
    'svc.*.health.check', 'svc.*.health.notes', 'svc.*.given-up', 'svc.webhooks.answer-now',
  ), // oxfmt-ignore
  catalog: [
    ...ofEvents('supplier', 'product', '(?:sync(?=\\.(?:completed|overdue)))'),
    ...exactly(
      'event-batches.*.catalog.*',
      'event-batches.catalog.*',
      'svc.batches.runs.list',
      'svc.batches.runs.find',
      'svc.batches.runs.get',
    ),
    ...exactly('svc.gateway.caller.>', 'svc.batches.caller.>', 'svc.webhooks.caller.>'),
  ],
  batches: [
    ...ofEvents('batch', 'dds', '(?:sync(?=\\.completed))'),
    ...exactly('event-batches.*.batches.*', 'event-batches.batches.*', 'svc.catalog.products.resolve'),
    ...exactly('svc.gateway.caller.>', 'svc.catalog.caller.>', 'svc.webhooks.caller.>'),
  ],
  webhooks: [
    ...ofEvents('webhook'),
    ...exactly(
      'event-batches.*.webhooks.*',
      'event-batches.webhooks.*',
      'event-batches.*.replay.*',
      'event-batches.replay.*',
      'attempts.*',
      'svc.gateway.caller.>',
    ),
    ...exactly('svc.catalog.runs.unannounced', 'svc.batches.runs.unannounced'),
  ],
  reader: [],
  ops: exactly('svc.webhooks.health.keys', 'webhooks.endpoint.changed'),
  operator: exactly('$SRV.>'),
};

/** What changes streams by right: the test leaves these subjects to the operators' logins. */
export const ownOfOperators: Readonly<Partial<Record<User, RegExp>>> = {
  webhooks: /^\$JS\.API\.STREAM\.PURGE\.ATTEMPTS$/,
  ops: /^\$JS\.API\.(STREAM\.(CREATE|UPDATE|PURGE)\.|CONSUMER\.(DURABLE\.CREATE|DELETE)\.EVENTS\.)/,
  operator: /^\$JS\.API\./,
};
