// What services of ours ask each other. The other one speaks the contract, or is of another release.
import { Failure, requestHeaders, type RequestSubject } from '@integration-sync/contracts';
import type { Bus, BusRequest } from '@integration-sync/runtime/bus';
import type { Static, TSchema } from 'typebox';
import { Check } from 'typebox/value';

export function readQuestion<T extends TSchema>(schema: T, body: Uint8Array): Static<T> {
  const question: unknown = JSON.parse(new TextDecoder().decode(body));
  if (!Check(schema, question)) throw new Failure('invalid_request', 'The question is not of its form.');
  return question;
}

/** On whose behalf a question is asked. */
export type Asking = Pick<BusRequest, 'integration' | 'requestId' | 'traceparent'>;

export interface Question<Answer extends TSchema> {
  subject: RequestSubject;
  /** What is asked: a body, or the id of one thing. */
  body?: object;
  id?: string;
  timeoutMs: number;
  answer: Answer;
}

/** A question changes nothing, so that it may be asked again on a connection that was lost. */
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
  if (!Check(schema, answer)) throw new Error('the answer of another service is not of its form');
  return answer;
}
