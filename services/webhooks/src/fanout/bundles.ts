// The bundles that this replica has taken, and what those of one integration make.
import { bundlesStream, readPartitionedSubject, unbundle, type Bundle } from '@integration-sync/contracts';
import type { StreamMessage } from '@integration-sync/runtime/bus';
import type { Span, SpanStart, Tracing } from '@integration-sync/runtime/tracing';
import type { Log } from '@integration-sync/runtime/log';
import type { Lease } from '../streams/leases.ts';
import { mayHold, readStreamEvent, type StreamEvent } from './event.ts';
import { matchEvents, type Group } from './match.ts';
import type { Subscribers } from './subscribers.ts';

/** A bundle that a replica has taken it fans out to the end, whether its lease lapses meanwhile or not. */
export type BundleLease = Pick<Lease, 'message' | 'ack' | 'giveBack'>;

export interface Taken {
  integration: string;
  lease: BundleLease;
  bundle: Bundle;
  /** From its being taken to its deliveries' being stored. */
  span: Span | undefined;
  /** For its deliveries. */
  traceparent: string | undefined;
}

/** Bundles of one integration, in their order, and the deliveries that they make. */
export interface Matched {
  integration: string;
  bundles: readonly Taken[];
  groups: readonly Group[];
  deliveries: number;
}

/** Asks once for all integrations. */
export async function matchBundles(
  subscribers: Pick<Subscribers, 'of'>,
  bundles: readonly Taken[],
  log: Log,
): Promise<Matched[]> {
  const byIntegration = Map.groupBy(bundles, ({ integration }) => integration);
  const found = await subscribers.of([...byIntegration.keys()]);
  return Array.from(byIntegration, ([integration, some]) => {
    const subscribed = found.get(integration) ?? [];
    // Where no endpoint subscribes, nothing is even read.
    const groups = subscribed.length === 0 ? [] : matchEvents(subscribed, readEvents(some, log));
    const deliveries = groups.reduce((sum, { to, events }) => sum + to.length * events.length, 0);
    return { integration, bundles: some, groups, deliveries };
  });
}

/** How much is matched at once: one look-up is for many. */
export const batchEvents = { max: 2_000, weigh: ({ bundle }: Taken): number => bundle.count };

export const countEvents = (bundles: readonly Taken[]): number =>
  bundles.reduce((sum, { bundle }) => sum + bundle.count, 0);

/** An event that came without a bundle is one of its own. */
export function bundleOf({ subject, id, sequence, body }: StreamMessage): Bundle | undefined {
  if (!isEvent(subject)) return unbundle(body);
  return { count: 1, place: sequence, events: () => [{ id, body }] };
}

export function takenOf(lease: BundleLease, bundle: Bundle, tracing: Tracing | undefined): Taken {
  const { message } = lease;
  const span = tracing?.begin(spanOf(message, bundle));
  const traceparent = span?.traceparent ?? message.traceparent;
  return { integration: integrationOf(message), lease, bundle, span, traceparent };
}

/** Of a bundle, or of `events.<integration>.<entity>.<action>` */
const integrationOf = ({ subject }: StreamMessage): string =>
  (isEvent(subject) ? subject.split('.', 2)[1] : readPartitionedSubject(subject)?.integration) ?? '';

const spanOf = (message: StreamMessage, bundle: Bundle): SpanStart => ({
  name: 'fan out',
  kind: 'consumer',
  parent: message.traceparent,
  attributes: {
    'messaging.system': 'nats',
    'messaging.destination.name': bundlesStream,
    'sync.integration': integrationOf(message),
    'sync.events': bundle.count,
  },
});

const isEvent = (subject: string): boolean => subject.startsWith('events.');

const readEvents = (bundles: readonly Taken[], log: Log): StreamEvent[] =>
  bundles.flatMap((taken) => {
    const events = eventsOf(taken);
    const holds = mayHold(taken.lease.message.subject);
    if (events.every(({ event }) => holds(event))) return events;
    const { true: held = [], false: refused = [] } = Object.groupBy(events, ({ event }) => `${holds(event)}`);
    const { subject } = taken.lease.message;
    const kinds = [...new Set(refused.map(({ event }) => event))].slice(0, refusedKindsMax);
    log.error(
      { subject, kinds, events: refused.length },
      'refused events that their publisher may not announce',
    );
    return held;
  });

const refusedKindsMax = 10;

const eventsOf = ({ bundle, traceparent }: Taken): StreamEvent[] =>
  bundle
    .events()
    .flatMap((event) => readStreamEvent({ ...event, sequence: bundle.place, traceparent }) ?? []);
