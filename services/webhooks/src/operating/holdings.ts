// The documents and messages that webhooks stores for one integration. Messages of ATTEMPTS name the endpoint, not the integration.
// So a removal notes the ids of the endpoints before it removes them, in a document that it removes last.
import { endpointChangedSubject, requestHeaders } from '@integration-sync/contracts';
import type { Bus } from '@integration-sync/runtime/bus';
import { documentHolding, type Holding } from '@integration-sync/runtime/holding';
import type { Store } from '@integration-sync/runtime/store';
import type { Endpoint } from '../endpoints/endpoint.ts';
import { registrationsCollection } from '../endpoints/idempotency-keys.ts';
import { endpointsCollection, revisionsCollection } from '../endpoints/endpoint-store.ts';
import { offsetsCollection } from '../log/offsets.ts';
import { answersSubject, attemptsStream, attemptsSubject } from '../streams.ts';

interface Note {
  /** The integration. */
  _id: string;
  endpointIds: string[];
}

const notesCollection = 'webhook_removals';

export type WebhooksHoldings = ReturnType<typeof openWebhooksHoldings>;

type Using = Pick<Bus, 'broadcast' | 'countBySubject' | 'purge'>;

export function openWebhooksHoldings(store: Store, bus: Using, integration: string) {
  const endpoints = store.collection<Endpoint>(endpointsCollection);
  const notes = store.collection<Note>(notesCollection);

  const noted = async (): Promise<string[]> => (await notes.findOne({ _id: integration }))?.endpointIds ?? [];
  const present = async (): Promise<string[]> =>
    (await endpoints.find({ integration }, { projection: { _id: 1 } }).toArray()).map(({ _id }) => _id);
  const endpointIds = async (): Promise<string[]> => [...new Set([...(await noted()), ...(await present())])];

  const findAttempts = async (): Promise<[subject: string, count: number][]> => {
    const counts = await bus.countBySubject(attemptsStream, attemptsSubject('*'));
    const ids = await endpointIds();
    const subjects = new Set([...ids.map(attemptsSubject), ...ids.map(answersSubject)]);
    return [...counts].filter(([subject]) => subjects.has(subject));
  };
  const attempts: Holding = {
    location: `NATS ${attemptsStream}`,
    count: async () => (await findAttempts()).reduce((all, [, count]) => all + count, 0),
    async remove() {
      let removed = 0;
      for (const [subject] of await findAttempts()) removed += await bus.purge(attemptsStream, subject);
      return removed;
    },
  };

  const ofCallers = documentHolding(store, endpointsCollection, { integration });
  return {
    /** The documents in the order of removal: once the endpoints are removed, no replica stores further documents for them. */
    documents: [
      {
        ...ofCallers,
        async remove() {
          const removed = await ofCallers.remove();
          // Each removal broadcasts the change of the endpoints: a replica may have been reading an endpoint during the removal.
          for (const id of await noted())
            bus.broadcast(endpointChangedSubject, id, { [requestHeaders.integration]: integration });
          return removed;
        },
      },
      documentHolding(store, registrationsCollection, { integration }),
      documentHolding(store, revisionsCollection, { _id: integration }),
      documentHolding(store, offsetsCollection, { _id: integration }),
    ],
    messages: [attempts],
    isBegun: async (): Promise<boolean> => (await notes.findOne({ _id: integration })) !== null,
    /** Notes the ids of the endpoints. Called before each removal of the integration's documents and messages. */
    async begin(): Promise<void> {
      await notes.updateOne(
        { _id: integration },
        { $addToSet: { endpointIds: { $each: await present() } } },
        { upsert: true },
      );
    },
    /** Removes the noted ids. Called after a removal that found no documents and messages. */
    async finish(): Promise<void> {
      await notes.deleteOne({ _id: integration });
    },
  };
}
