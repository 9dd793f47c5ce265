// The NATS micro protocol, by which `nats micro ls`, `info` and `stats` show every replica of every service.
import { randomUUID } from 'node:crypto';
import { endpointMetadata } from '@integration-sync/contracts';
import type { RequestSeen } from '../metrics.ts';
import { answerAll } from './broadcasts.ts';
import type { Connection } from './connection.ts';

export interface Identity {
  service: string;
  version: string;
  /** The commit of the build, for `nats micro info`. */
  revision?: string;
  description: string;
}

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

  const answers = {
    PING: () => ({}),
    INFO: () => ({ description, endpoints: Array.from(endpoints.values(), infoOf) }),
    STATS: () => ({ started, endpoints: Array.from(endpoints.values(), statsOf) }),
  };

  using listening = new DisposableStack();
  for (const [verb, say] of Object.entries(answers)) {
    const type = `io.nats.micro.v1.${verb.toLowerCase()}_response`;
    for (const whom of ['', `.${service}`, `.${service}.${identity.id}`])
      listening.use(
        answerAll(connection, `$SRV.${verb}${whom}`, () => JSON.stringify({ type, ...identity, ...say() })),
      );
  }
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

const infoOf = ({ endpoint }: Endpoint) => ({ ...endpoint, metadata: endpointMetadata(endpoint.subject) });

const statsOf = ({ endpoint, requests, errors, lastError, nanos }: Endpoint) => ({
  ...endpoint,
  num_requests: requests,
  num_errors: errors,
  last_error: lastError,
  processing_time: nanos,
  average_processing_time: requests === 0 ? 0 : Math.round(nanos / requests),
});
