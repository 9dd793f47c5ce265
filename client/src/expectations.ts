// How often an integration means to push each kind of record, and whether a push is overdue.
import type { Send } from './call.ts';
import type { Expectations, SetExpectations } from './types.ts';

export interface ExpectationsOfPushes {
  get(): Promise<Expectations>;
  /** Sets expectations by kind of record. The expectation of an absent kind is not changed; null ends an expectation. */
  set(change: SetExpectations): Promise<Expectations>;
}

export function openExpectations(send: Send): ExpectationsOfPushes {
  const path = 'expectations';
  return {
    get: async () => (await send<Expectations>({ method: 'GET', path })).body,
    set: async (change) =>
      (await send<Expectations>({ method: 'PUT', path, body: JSON.stringify(change) })).body,
  };
}
