// Whether the event stream is still the one in which endpoints remember places. After a loss of all that NATS had it
// is made anew and counts from one, and an endpoint that waits for what comes after the place where it was registered
// would wait for long.
import type { Store } from '@integration-sync/runtime/store';
import type { Endpoints } from './endpoints.ts';
import type { Subscribers } from './subscribers.ts';

interface KnownStream {
  _id: string;
  madeAt: Date;
}

export interface AnewOptions {
  store: Store;
  endpoints: Pick<Endpoints, 'forgetPlaces'>;
  subscribers: Pick<Subscribers, 'changed'>;
}

/** Before anything is read from the stream. May be done twice, or be cut off, without harm. */
export async function forgetOtherStream(
  { store, endpoints, subscribers }: AnewOptions,
  name: string,
  madeAt: Date,
): Promise<void> {
  const streams = store.collection<KnownStream>('webhook_streams');
  const known = await streams.findOne({ _id: name });
  if (known?.madeAt.getTime() === madeAt.getTime()) return;
  if (known !== null) {
    for (const integration of await endpoints.forgetPlaces(madeAt)) await subscribers.changed(integration);
  }
  await streams.updateOne({ _id: name }, { $set: { madeAt } }, { upsert: true });
}
