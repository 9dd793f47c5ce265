// Reading what another service of ours asks or answers. It speaks the contract, or is of another release.
import { Failure } from '@integration-sync/contracts';
import type { Static, TSchema } from 'typebox';
import { Check } from 'typebox/value';

export function readQuestion<T extends TSchema>(schema: T, body: Uint8Array): Static<T> {
  const question: unknown = JSON.parse(new TextDecoder().decode(body));
  if (!Check(schema, question)) throw new Failure('invalid_request', 'The question is not of its form.');
  return question;
}

export function readAnswer<T extends TSchema>(schema: T, body: Uint8Array): Static<T> {
  const answer: unknown = JSON.parse(new TextDecoder().decode(body));
  if (!Check(schema, answer)) throw new Error('the answer of another service is not of its form');
  return answer;
}
