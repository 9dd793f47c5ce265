// The NATS micro protocol: what makes `nats micro ls`, `info` and `stats` see every replica of every service.
import { randomUUID } from 'node:crypto';
import type { Connection } from './connection.ts';

export interface EndpointTally {
  subject: string;
  queue: string;
  requests: number;
  errors: number;
  lastError: string;
  nanos: number;
}

interface Identity {
  service: string;
  version: string;
  revision?: string;
  description: string;
}

const verbs = ['PING', 'INFO', 'STATS'] as const;
type Verb = (typeof verbs)[number];

export function announceService(
  connection: Connection,
  { service, version, revision, description }: Identity,
  tallies: readonly EndpointTally[],
): Disposable {
  const started = new Date().toISOString();
  const identity = {
    name: service,
    id: randomUUID(),
    version,
    metadata: revision === undefined ? {} : { revision },
  };

  const describe = (verb: Verb): unknown => {
    if (verb === 'PING') return { type: 'io.nats.micro.v1.ping_response', ...identity };
    if (verb === 'INFO') {
      const endpoints = tallies.map((tally) => ({ ...endpointOf(tally), metadata: {} }));
      return { type: 'io.nats.micro.v1.info_response', ...identity, description, endpoints };
    }
    return { type: 'io.nats.micro.v1.stats_response', ...identity, started, endpoints: tallies.map(statsOf) };
  };

  using listening = new DisposableStack();
  for (const verb of verbs)
    for (const subject of [
      `$SRV.${verb}`,
      `$SRV.${verb}.${service}`,
      `$SRV.${verb}.${service}.${identity.id}`,
    ])
      listening.use(
        connection.listen(subject, (message) => void message.respond(JSON.stringify(describe(verb)))),
      );
  return listening.move();
}

const endpointOf = (tally: EndpointTally) => ({
  // `svc.catalog.suppliers.push` is shown as `suppliers-push`.
  name: tally.subject.split('.').slice(2).join('-'),
  subject: tally.subject,
  queue_group: tally.queue,
});

const statsOf = (tally: EndpointTally) => ({
  ...endpointOf(tally),
  num_requests: tally.requests,
  num_errors: tally.errors,
  last_error: tally.lastError,
  processing_time: tally.nanos,
  average_processing_time: tally.requests === 0 ? 0 : Math.round(tally.nanos / tally.requests),
});
