// Handlers whose database may be away: that is an answer of its own, not an error of ours.
import type { BusHandler } from '@integration-sync/runtime/bus';
import { storeFailure } from '@integration-sync/runtime/store';

export const answering = (handlers: Readonly<Record<string, BusHandler>>): Record<string, BusHandler> =>
  Object.fromEntries(
    Object.entries(handlers).map(([subject, handler]) => [
      subject,
      async (request) => {
        try {
          return await handler(request);
        } catch (error) {
          throw storeFailure(error);
        }
      },
    ]),
  );
