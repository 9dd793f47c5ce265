// The NATS micro protocol, by which `nats micro ls`, `info` and `stats` show every replica of every service.
import { randomUUID } from 'node:crypto';
import { endpointMetadata } from '@integration-sync/contracts';
import type { RequestSeen } from '../metrics.ts';
import { isQuestion } from './caller.ts';
import type { Connection } from './connection.ts';

export interface Identity {
  service: string;
  version: string;
  /** The commit of the build, for `nats micro info`. */
  revision?: string;
  description: string;
}

const verbs = ['PING', 'INFO', 'STATS'] as const;
type Verb = (typeof verbs)[number];

export function announceService(
  connection: Connection,
  { service, version, revision, description }: Identity,
  subjects: readonly string[],
) {
  const started = new Date().toISOString();
  const identity = {
    name: service,
    id: randomUUID(),
    version,
    metadata: revision === undefined ? {} : { revision },
  };

  const endpoints = new Map(subjects.map((subject) => [subject, newEndpoint(service, subject)]));

  const describe = (verb: Verb): unknown => {
    if (verb === 'PING') return { type: 'io.nats.micro.v1.ping_response', ...identity };
    if (verb === 'INFO') {
      const infos = Array.from(endpoints.values(), ({ endpoint }) => ({
        ...endpoint,
        metadata: endpointMetadata(endpoint.subject),
      }));
      return { type: 'io.nats.micro.v1.info_response', ...identity, description, endpoints: infos };
    }
    const stats = Array.from(endpoints.values(), statsOf);
    return { type: 'io.nats.micro.v1.stats_response', ...identity, started, endpoints: stats };
  };

  using listening = new DisposableStack();
  for (const verb of verbs)
    for (const subject of [
      `$SRV.${verb}`,
      `$SRV.${verb}.${service}`,
      `$SRV.${verb}.${service}.${identity.id}`,
    ])
      listening.use(
        connection.listen(subject, (message) => {
          if (isQuestion(message)) message.respond(JSON.stringify(describe(verb)));
        }),
      );
  const open = listening.move();
  return {
    count({ subject, outcome, seconds }: RequestSeen): void {
      const endpoint = endpoints.get(subject);
      if (endpoint === undefined) return;
      endpoint.requests += 1;
      endpoint.nanos += Math.round(seconds * 1e9);
      if (outcome === 'ok') return;
      endpoint.errors += 1;
      endpoint.lastError = outcome;
    },
    [Symbol.dispose]: () => open.dispose(),
  };
}

type Endpoint = ReturnType<typeof newEndpoint>;

const newEndpoint = (queue: string, subject: string) => ({
  // `svc.catalog.suppliers.push` is shown as `suppliers-push`.
  endpoint: { name: subject.split('.').slice(2).join('-'), subject, queue_group: queue },
  requests: 0,
  errors: 0,
  lastError: '',
  nanos: 0,
});

const statsOf = ({ endpoint, requests, errors, lastError, nanos }: Endpoint) => ({
  ...endpoint,
  num_requests: requests,
  num_errors: errors,
  last_error: lastError,
  processing_time: nanos,
  average_processing_time: requests === 0 ? 0 : Math.round(nanos / requests),
});
