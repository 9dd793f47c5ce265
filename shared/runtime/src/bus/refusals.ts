// What nats-server refuses for good because of a limit, and which setting mends it: of this system where it has one, of
// nats-server otherwise. The words are shown to callers of /readyz, so that they name settings and no address.
import { JetStreamApiError } from '@nats-io/jetstream';
import { PermissionViolationError } from '@nats-io/nats-core';
import { ConfigError } from '../config/index.ts';

const ofAccount = (limit: string, beside = ''): string => `raise \`${limit}\` of the NATS account${beside}`;
const orFewerBytes = ', or lower EVENTS_MAX_BYTES';
const unboundedStreams = 'only EVENTS has a size';

/** As it stands in an error of the client, and in what a publisher is answered. */
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
  10_026: ofAccount('max_consumers', ' (one for each replica of webhooks)'),
  10_027: ofAccount('max_streams', ' to 5 or more'),
  10_047: `${ofAccount('max_file')} or \`max_file_store\` of nats-server${orFewerBytes}`,
  [codes.replicasUnsupported]: 'STREAM_REPLICAS: expected 1, as this NATS is a single server',
  10_113: `take \`max_bytes_required\` off the NATS account: ${unboundedStreams}`,
  10_120: 'give the NATS account a limit of JetStream for streams with STREAM_REPLICAS copies',
  10_121: 'raise `max_ack_pending` of the NATS account and of nats-server’s limits to 50000',
  10_122: `${ofAccount('disk_max_stream_bytes')}${orFewerBytes}`,
};

/** Codes that stand for many things. */
const mendingsByWords: readonly (readonly [RegExp, string])[] = [
  [/duplicates window can not be larger/, 'raise `duplicate_window` of nats-server’s limits to 10m'],
  [/maximum bytes exceeded/, 'the stream is full: raise EVENTS_MAX_BYTES, or lower EVENTS_KEEP_DAYS'],
];

/** Which setting mends it; undefined where it is no limit. */
export const mendingOf = ({ code, message }: Refusal): string | undefined =>
  mendings[code] ?? mendingsByWords.find(([words]) => words.test(message))?.[1];

/** Copies would be made if a server of the cluster were there that is away. */
export const needsAbsentServer = ({ code, message }: Refusal): boolean =>
  code === codes.noPlacement && message.includes('peer offline');

/** The login may not. The client of JetStream hands on such an error as the cause of its own. */
export const isForbidden = (error: unknown): boolean =>
  error instanceof PermissionViolationError || (error instanceof Error && isForbidden(error.cause));

export const isRefusedWith = (error: unknown, code: number): boolean =>
  error instanceof JetStreamApiError && error.code === code;

/** Undefined where nats-server refuses it with this code. */
export async function unlessRefused<T>(work: Promise<T>, code: number): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (isRefusedWith(error, code)) return undefined;
    throw error;
  }
}

/** A start that needs `what` cannot go on. */
export function refused(what: string, error: JetStreamApiError): Error {
  const mending = mendingOf(error);
  return mending === undefined
    ? new Error(`NATS refuses the ${what}: ${error.message}`, { cause: error })
    : new ConfigError([`${mending} (${what}): ${error.message}`], { cause: error });
}
