// Consumers and streams that read the streams of this system but do not belong to this system. A push consumer, and a stream that
// copies messages, publish them with the rights of nats-server. Pure.
import { eventsStream } from '@integration-sync/contracts';
import type { ConsumerInfo, StreamConfig } from '@nats-io/jetstream';

/** Consumers with which replicas of releases up to 1.1.0 read the log. nats-server removes each after its reader ends. */
const formerReader = /^follow-[0-9a-f-]{36}$/;

/** Why a consumer does not belong to this system: other services may only read EVENTS, each by a pull consumer. */
export type Strangeness = 'pushes' | 'unknown' | undefined;

export function strangenessOf(
  stream: string,
  { name, config }: Pick<ConsumerInfo, 'name' | 'config'>,
): Strangeness {
  if ((config.deliver_subject ?? '') !== '') return 'pushes';
  const isFormer = formerReader.test(name) && config.durable_name === undefined;
  return stream === eventsStream || isFormer ? undefined : 'unknown';
}

/** The names of the streams from which nats-server copies messages into a stream. */
export const copiedStreams = ({ mirror, sources = [] }: Partial<StreamConfig>): string[] => [
  ...new Set([...(mirror === undefined ? [] : [mirror]), ...sources].map(({ name }) => name)),
];
