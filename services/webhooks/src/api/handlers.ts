// What the handlers share: which endpoint a request names, and an answer in JSON. The handlers: register.ts, endpoints.ts (read,
// change, rotate, delete), test-delivery.ts, drill.ts, replay.ts, endpoint-listing.ts and attempt-listing.ts.
import { Failure, requestHeaders } from '@integration-sync/contracts';
import type { BusRequest } from '@integration-sync/runtime/bus';
import type { Semaphore } from '@integration-sync/runtime/semaphore';
import type { Endpoint } from '../endpoints/endpoint.ts';
import type { Endpoints } from '../endpoints/endpoint-store.ts';

export const json = (body: unknown) => ({ body: JSON.stringify(body) });

export const endpointIdOf = ({ headers }: Pick<BusRequest, 'headers'>): string =>
  headers.get(requestHeaders.id) ?? '';

export async function endpointOf(
  endpoints: Pick<Endpoints, 'findOf'>,
  request: BusRequest,
): Promise<Endpoint> {
  const endpoint = await endpoints.findOf(request.integration, endpointIdOf(request));
  if (endpoint === null) throw absent();
  return endpoint;
}

export function refuseDisabled({ active }: Pick<Endpoint, 'active'>): void {
  if (!active) throw new Failure('conflict', 'The webhook is disabled; enable it first ({"active": true}).');
}

/** Runs `work` unless the integration has too many jobs under way. `what` names these jobs in the refusal, such as "tests". */
export async function runIfFree<T>(
  semaphore: Semaphore,
  integration: string,
  what: string,
  work: () => Promise<T>,
): Promise<T> {
  if (!semaphore.mayTake(integration))
    throw new Failure('unavailable', `Too many ${what} are under way.`, { retryAfterSeconds: 2 });
  return semaphore.run(work, integration);
}

/** The answer for an endpoint that does not exist, or belongs to another integration. */
export const absent = (): Failure => new Failure('not_found', 'There is no webhook with this id.');
