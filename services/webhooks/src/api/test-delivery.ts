// A test delivery: webhooks sends it to the receiver at once, and answers with the receiver's answer.
import { randomUUID } from 'node:crypto';
import { Failure, testKind } from '@integration-sync/contracts';
import type { BusHandler } from '@integration-sync/runtime/bus';
import { openSemaphore } from '@integration-sync/runtime/semaphore';
import { entryOf, type AttemptLog } from '../delivering/attempt-log.ts';
import type { EndpointCache } from '../endpoints/cache.ts';
import type { Endpoint } from '../endpoints/endpoint.ts';
import type { Endpoints } from '../endpoints/store.ts';
import type { Signable } from '../sending/headers.ts';
import type { Attempted, Send } from '../sending/send.ts';
import { endpointOf, json } from './handlers.ts';

export interface TestDeliveryOptions {
  endpoints: Pick<Endpoints, 'findOf'>;
  cache: Pick<EndpointCache, 'prepare'>;
  send: Send;
  attemptLog: Pick<AttemptLog, 'append'>;
}

/** Each test may hold a receiver's whole ten seconds; 45 of one integration leave room for those of others. */
const testLimits = { max: 64, share: { timesFree: 3, kept: 4 } };

export type Test = (endpoint: Endpoint, traceparent?: string) => Promise<Attempted>;

/** A test is one attempt, whatever its outcome, and stands in the attempt log. */
export const openTest =
  ({ cache, send, attemptLog }: Omit<TestDeliveryOptions, 'endpoints'>): Test =>
  async (endpoint, traceparent) => {
    const test = testOf(endpoint);
    const attempted = await send(cache.prepare(endpoint), { ...test, attempt: 1, traceparent });
    attemptLog.append(endpoint._id, entryOf({ ...test, attempt: 1 }, attempted, null));
    return attempted;
  };

export function testing(options: TestDeliveryOptions): BusHandler {
  const { endpoints } = options;
  const test = openTest(options);
  const semaphore = openSemaphore(testLimits);
  return async (request) => {
    const { integration } = request;
    const endpoint = await endpointOf(endpoints, request);
    if (!semaphore.mayTake(integration)) {
      throw new Failure('unavailable', 'Too many tests are under way.', { retryAfterSeconds: 2 });
    }
    semaphore.take(integration);
    try {
      const { verdict, responseStatus, durationMs, error } = await test(endpoint, request.traceparent);
      return json({ delivered: verdict === 'succeeded', responseStatus, durationMs, error });
    } finally {
      semaphore.release(integration);
    }
  };
}

function testOf({ _id, integration }: Endpoint): Signable {
  const event = testKind;
  const timestamp = new Date().toISOString();
  const body = { event, timestamp, integrationId: integration, data: { webhookId: _id } };
  return { eventId: `test-${randomUUID()}`, event, timestamp, body: Buffer.from(JSON.stringify(body)) };
}
