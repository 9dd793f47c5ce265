// A stream as nats-server has it, beside what this release says of it. A process mends what it says itself (streams.ts). Pure.
//
//   a setting of the stream        this release says         is compared with
//   ─────────────────────────────  ────────────────────────  ─────────────────────────────────────────────
//   copies, days, bytes, …         by settings               quantities.ts
//   subjects, retention, …         a value                   that value
//   republish, mirror, no_ack, …   nothing                   the value of a stream that is made without it
//   placement, compression, …      nothing: operators do     nothing
import { isDeepStrictEqual } from 'node:util';
import { numberIn } from '@integration-sync/contracts';
import type { StreamConfig } from '@nats-io/jetstream';
import { streamConfig, type StreamSpec } from './streams.ts';

/** Limits that nats-server writes as "no limit" where a stream was made without them. */
const limitsOfStream = new Set(['max_consumers', 'max_msgs', 'max_msg_size', 'max_msgs_per_subject']);
const noLimit = -1;
const ofOperators = new Set(['placement', 'compression', 'metadata']);
/** Named in quantities.ts. */
const ofQuantities = new Set(['num_replicas', 'max_age', 'max_bytes']);

/** Settings of a stream that this release does not say, by their names at nats-server. */
export function foreignSettings(spec: StreamSpec, found: Partial<StreamConfig>): string[] {
  const said = streamConfig(spec);
  const isOurs = (name: string): boolean =>
    Object.hasOwn(said, name) ||
    ofOperators.has(name) ||
    ofQuantities.has(name) ||
    (name === 'max_msgs_per_subject' && spec.messagesPerSubjectMax !== undefined) ||
    (name === 'subject_transform' && numberIn(found.subject_transform) > 1);
  return Object.entries(found)
    .filter(([name, value]) => !isOurs(name) && !isUnset(name, value))
    .map(([name]) => name);
}

const isUnset = (name: string, value: unknown): boolean =>
  !value || (limitsOfStream.has(name) && value === noLimit) || isDeepStrictEqual(value, {});

/** The first tokens of subjects that only the services of this system use. */
const ourTokens = new Set([
  'svc',
  'webhooks',
  'events',
  'bundles',
  'deliveries',
  'held',
  'attempts',
  '*',
  '>',
]);

/** Subjects of a stream that is none of ours, under which it would store what the services say to each other. */
export const subjectsOfOurs = (subjects: readonly string[]): string[] =>
  subjects.filter((subject) => {
    const [first = ''] = subject.split('.');
    return ourTokens.has(first) || first.startsWith('_INBOX');
  });
