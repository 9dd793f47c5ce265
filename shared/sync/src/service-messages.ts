// Questions between services of this system. A message that does not fit its schema comes from another release.
import { Failure, requestHeaders, type RequestSubject } from '@integration-sync/contracts';
import type { Bus, BusRequest } from '@integration-sync/runtime/bus';
import type { Static, TSchema } from 'typebox';
import { Check } from 'typebox/value';

export function readQuestion<T extends TSchema>(schema: T, body: Uint8Array): Static<T> {
  const question: unknown = JSON.parse(new TextDecoder().decode(body));
  if (!Check(schema, question)) throw new Failure('invalid_request', 'The question does not fit its schema.');
  return question;
}

/** The request on behalf of which a service asks another service. */
export type Asking = Pick<BusRequest, 'integration' | 'requestId' | 'traceparent'>;

export interface Question<Answer extends TSchema> {
  subject: RequestSubject;
  /** A question has either a body or an id. */
  body?: object;
  id?: string;
  timeoutMs: number;
  answer: Answer;
}

/** A question changes nothing, so the bus may send it again after a lost connection. */
export async function askService<Answer extends TSchema>(
  bus: Bus,
  { integration, requestId, traceparent }: Asking,
  { subject, body, id, timeoutMs, answer: schema }: Question<Answer>,
): Promise<Static<Answer>> {
  const reply = await bus.request(subject, {
    headers: {
      [requestHeaders.integration]: integration,
      [requestHeaders.requestId]: requestId,
      [requestHeaders.traceparent]: traceparent,
      [requestHeaders.id]: id,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    timeoutMs,
    repeatable: true,
  });
  const answer: unknown = JSON.parse(new TextDecoder().decode(reply.body));
  if (!Check(schema, answer)) throw new Error('the answer of another service does not fit its schema');
  return answer;
}
