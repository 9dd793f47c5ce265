// All that webhooks keeps of one integration. Messages of HELD and ATTEMPTS name their endpoint, not its integration: so
// the ids of the endpoints are noted before the endpoints go, in a document that goes last. A removal that was cut off
// anywhere finds them there.
import { endpointChangedSubject } from '@integration-sync/contracts';
import type { Bus } from '@integration-sync/runtime/bus';
import { documentHolding, messageHolding, type Holding } from '@integration-sync/runtime/holding';
import type { Collection, Store } from '@integration-sync/runtime/store';
import { endpointsCollection } from '../endpoints/store.ts';
import { revisionsCollection } from '../endpoints/revisions.ts';
import type { Endpoint } from '../endpoints/endpoint.ts';
import { attemptsSubject, heldSubjects, readEvent } from '../streams/messages.ts';
import { attemptsStream, backlogConsumer, deliveriesStream, heldStream } from '../streams/streams.ts';
import { storedDeliveries } from '../streams/subjects.ts';

interface Note {
  /** The integration. */
  _id: string;
  endpointIds: string[];
}

const notesCollection = 'webhook_removals';

export interface WebhooksHoldings {
  /** In the order of their removal: once the endpoints are gone, no replica makes anything for them any more. */
  documents: Holding[];
  /** Those after them, in their order. */
  messages: Holding[];
  /** Whether a removal was begun and has not come to its end. */
  isBegun(): Promise<boolean>;
  /** Before each removal of the holdings. */
  begin(): Promise<void>;
  /** After the last one, which found nothing any more. */
  finish(): Promise<void>;
}

type Using = Pick<
  Bus,
  'broadcast' | 'countBySubject' | 'countMessages' | 'purge' | 'readStream' | 'removeConsumer'
>;

export function openWebhooksHoldings(store: Store, bus: Using, integration: string): WebhooksHoldings {
  const endpoints = store.collection<Endpoint>(endpointsCollection);
  const notes = store.collection<Note>(notesCollection);

  const noted = async (): Promise<string[]> => (await notes.findOne({ _id: integration }))?.endpointIds ?? [];
  const present = async (): Promise<string[]> =>
    (await endpoints.find({ integration }, { projection: { _id: 1 } }).toArray()).map(({ _id }) => _id);
  const endpointIds = async (): Promise<string[]> => [...new Set([...(await noted()), ...(await present())])];

  const ofEndpoints = (stream: string, subject: string, subjectOf: (id: string) => string): Holding => {
    const find = async (): Promise<[id: string, count: number][]> => {
      const counts = await countByEndpoint(bus, stream, subject);
      const ids = new Set(await endpointIds());
      if (stream === heldStream)
        for (const id of await leftIn(bus, counts, endpoints, integration)) ids.add(id);
      return [...counts].filter(([id]) => ids.has(id));
    };
    return {
      place: `NATS ${stream}`,
      count: async () => (await find()).reduce((all, [, count]) => all + count, 0),
      async remove() {
        let removed = 0;
        for (const [id] of await find()) removed += await bus.purge(stream, subjectOf(id));
        return removed;
      },
    };
  };

  const ofCallers = documentHolding(store, endpointsCollection, { integration });
  return {
    documents: [
      {
        ...ofCallers,
        async remove() {
          const removed = await ofCallers.remove();
          // Each time: a replica may have learnt of one again that was on its way to it.
          for (const id of await noted()) bus.broadcast(endpointChangedSubject, id);
          return removed;
        },
      },
      documentHolding(store, revisionsCollection, { _id: integration }),
    ],
    messages: [
      messageHolding(bus, deliveriesStream, storedDeliveries(integration)),
      ofEndpoints(heldStream, 'held.>', heldSubjects),
      ofEndpoints(attemptsStream, 'attempts.>', attemptsSubject),
    ],
    isBegun: async () => (await notes.findOne({ _id: integration })) !== null,
    async begin() {
      await notes.updateOne(
        { _id: integration },
        { $addToSet: { endpointIds: { $each: await present() } } },
        { upsert: true },
      );
    },
    async finish() {
      // Replicas read it until some seconds after it is empty, and would make it again until then.
      await bus.removeConsumer(deliveriesStream, backlogConsumer(integration).name);
      await notes.deleteOne({ _id: integration });
    },
  };
}

async function countByEndpoint(bus: Using, stream: string, subject: string): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  for (const [one, count] of await bus.countBySubject(stream, subject)) {
    const [, id = ''] = one.split('.');
    counts.set(id, (counts.get(id) ?? 0) + count);
  }
  return counts;
}

/** Of endpoints that callers had deleted before, while something was on its way: told by what is held itself. */
async function leftIn(
  bus: Using,
  counts: ReadonlyMap<string, number>,
  endpoints: Collection<Endpoint>,
  integration: string,
): Promise<string[]> {
  // Read after the subjects: what is held for an endpoint comes after the endpoint.
  const there = await thoseThere(endpoints, [...counts.keys()]);
  const left: string[] = [];
  for (const id of counts.keys()) {
    if (there.has(id)) continue;
    for await (const { body } of bus.readStream(heldStream, {
      subject: heldSubjects(id),
      from: { sequence: 1 },
      max: 1,
    })) {
      if (readEvent(body)?.integrationId === integration) left.push(id);
    }
  }
  return left;
}

const idsAtOnce = 1_000;

async function thoseThere(endpoints: Collection<Endpoint>, ids: readonly string[]): Promise<Set<string>> {
  const there = new Set<string>();
  for (let from = 0; from < ids.length; from += idsAtOnce) {
    const some = ids.slice(from, from + idsAtOnce);
    for await (const { _id } of endpoints.find({ _id: { $in: some } }, { projection: { _id: 1 } }))
      there.add(_id);
  }
  return there;
}
