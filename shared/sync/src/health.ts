// Readiness, as the gateway asks for it: a service whose database is away cannot answer anything else either.
import type { BusHandler } from '@integration-sync/runtime/bus';
import { storeFailure, type Store } from '@integration-sync/runtime/store';

export const checkHealth =
  (store: Store): BusHandler =>
  async () => {
    try {
      await store.ping();
    } catch (error) {
      throw storeFailure(error);
    }
    return { body: JSON.stringify({ status: 'ok' }) };
  };
