// Which setting, of this system or of nats-server, mends a refusal of nats-server that is due to a limit. Callers of /readyz see
// these texts, so they name settings and no addresses.
import { JetStreamApiError } from '@nats-io/jetstream';
import { NoRespondersError, PermissionViolationError } from '@nats-io/nats-core';
import { ConfigError } from '../config/index.ts';

const ofAccount = (limit: string, beside = ''): string => `raise \`${limit}\` of the NATS account${beside}`;
const orFewerBytes = ', or lower EVENTS_MAX_BYTES';
const unboundedStreams = 'only EVENTS may have a limit in bytes';

/** A refusal of nats-server, from an error of the NATS client or from a publish ack. */
export interface Refusal {
  code: number;
  message: string;
}

export const codes = {
  noPlacement: 10_005,
  consumerNotFound: 10_014,
  streamNameInUse: 10_058,
  streamNotFound: 10_059,
  replicasUnsupported: 10_074,
};

const mendings: Readonly<Record<number, string>> = {
  10_002: ofAccount('max_file', ' or give its streams less to keep (EVENTS_KEEP_DAYS, EVENTS_MAX_BYTES)'),
  [codes.noPlacement]: 'STREAM_REPLICAS: too few NATS servers are up and have room for a copy each',
  10_023: 'make room on the disk of nats-server, or raise its `max_file_store`',
  10_026: ofAccount('max_consumers', ' (one for each reader of EVENTS)'),
  10_027: ofAccount('max_streams', ' to 3 or more'),
  10_047: `${ofAccount('max_file')} or \`max_file_store\` of nats-server${orFewerBytes}`,
  [codes.replicasUnsupported]: 'STREAM_REPLICAS: expected 1, as this NATS is a single server',
  10_113: `take \`max_bytes_required\` off the NATS account: ${unboundedStreams}`,
  10_120: 'give the NATS account a limit of JetStream for streams with STREAM_REPLICAS copies',
  10_121: 'raise `max_ack_pending` of the NATS account and of nats-server’s limits to 1000',
  10_122: `${ofAccount('disk_max_stream_bytes')}${orFewerBytes}`,
};

/** Settings for refusals whose code has several causes: the message of nats-server tells the cause. */
const mendingsByWords: readonly (readonly [RegExp, string])[] = [
  [/duplicates window can not be larger/, 'raise `duplicate_window` of nats-server’s limits to 5m'],
  [/maximum bytes exceeded/, 'the stream is full: raise EVENTS_MAX_BYTES, or lower EVENTS_KEEP_DAYS'],
];

/** The setting that mends the refusal; undefined if the refusal is not due to a limit. */
export const mendingOf = ({ code, message }: Refusal): string | undefined =>
  mendings[code] ?? mendingsByWords.find(([words]) => words.test(message))?.[1];

/** Whether nats-server cannot place the copies of a stream because a server of the cluster is away. */
export const needsAbsentServer = ({ code, message }: Refusal): boolean =>
  code === codes.noPlacement && message.includes('peer offline');

/** Whether the login lacks a permission. The JetStream client wraps such an error as the `cause` of its own error. */
export const isForbidden = (error: unknown): boolean =>
  error instanceof PermissionViolationError || (error instanceof Error && isForbidden(error.cause));

/** The subject of a request without subscribers, such as a subject that the account of this login does not import. */
export const unheardSubject = (error: unknown): string | undefined =>
  error instanceof NoRespondersError
    ? error.subject
    : error instanceof Error
      ? unheardSubject(error.cause)
      : undefined;

export const isRefusedWith = (error: unknown, code: number): boolean =>
  error instanceof JetStreamApiError && error.code === code;

/** Resolves with undefined if nats-server refuses `work` with the error code `code`. */
export async function unlessRefused<T>(work: Promise<T>, code: number): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (isRefusedWith(error, code)) return undefined;
    throw error;
  }
}

/** nats-server refuses a stream or a consumer for good, and no setting of this system mends that. */
export class NatsRefusal extends Error {
  override readonly name = 'NatsRefusal';
}

/** The error that ends a start because nats-server refuses `what` for good. */
export function refused(what: string, error: JetStreamApiError): Error {
  const mending = mendingOf(error);
  return mending === undefined
    ? new NatsRefusal(`NATS refuses the ${what}: ${error.message}`, { cause: error })
    : new ConfigError([`${mending} (${what}): ${error.message}`], { cause: error });
}
