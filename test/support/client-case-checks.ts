// What a case of test/cases/client.json expects of the end of a call, and of the requests that it made.
import { RequestFailed, Unreachable } from '@integration-sync/client';
import { expect } from 'vitest';
import { isPush, itemsOf, readBody, type Asked, type CaseCall } from './client-cases.ts';

const errors = { RequestFailed, Unreachable };

export function checkError(fails: NonNullable<CaseCall['fails']>, got: unknown): void {
  const { error, message = '', ...rest } = fails;
  expect(got).toBeInstanceOf(errors[error]);
  expect(got).toMatchObject({ ...rest, message: expect.stringContaining(message) });
}

export function checkOutcome(call: CaseCall, outcome: unknown): void {
  if (outcome instanceof Error) throw outcome;
  if (call.outcome !== undefined) expect(outcome).toMatchObject(withoutNull(call.outcome));
  if (call.isWhole !== true) return;
  if (!isPush(outcome)) throw new Error('expected the outcome of a push');
  const ids = itemsOf(call.items).map(({ externalId }) => externalId);
  expect(outcome.records.map(({ externalId }) => externalId)).toEqual(ids);
  expect(outcome.details.map(({ index }) => index)).toEqual(ids.map((_id, index) => index));
  for (const { index, problems } of outcome.details)
    for (const { pointer } of problems) expect(pointer).toMatch(new RegExp(`^/suppliers/${index}(/name)?$`));
  if (call.lastDetail !== undefined) expect(outcome.details.at(-1)).toMatchObject(call.lastDetail);
}

export function checkRequests(call: CaseCall, asked: readonly Asked[]): void {
  for (const [index, { headers = {}, body, form, ...rest }] of (call.requests ?? []).entries()) {
    const one = asked[index];
    expect(one).toMatchObject(rest);
    for (const [name, value] of Object.entries(headers)) expect(one?.headers.get(name)).toBe(value);
    if (body !== undefined) expect(JSON.parse(one?.body ?? '')).toEqual(body);
    if (form !== undefined) expect(one?.body).toBe(form);
  }
  const bodies = asked.map(({ body }) => body);
  if (call.sizes !== undefined) expect(bodies.map((body) => readBody(body).items.length)).toEqual(call.sizes);
  if (call.besides !== undefined)
    for (const body of bodies) expect(readBody(body).besides).toEqual(call.besides);
  if (call.authorizations !== undefined)
    expect(asked.map(({ headers }) => headers.get('authorization'))).toEqual(call.authorizations);
  for (const body of bodies)
    expect(Buffer.byteLength(body)).toBeLessThanOrEqual(call.bodyBytesMax ?? Infinity);
  expect(asked.length).toBeGreaterThanOrEqual(call.requestsMin ?? call.requests?.length ?? 0);
  expect(asked.length).toBeLessThanOrEqual(call.requestsMax ?? Infinity);
  for (const [index, [least, most]] of (call.waits ?? []).entries()) {
    const waited = (Number(asked[index + 1]?.at) - Number(asked[index]?.at)) / 1_000;
    expect(waited).toBeGreaterThanOrEqual(least);
    expect(waited).toBeLessThanOrEqual(most);
  }
}

/** What a case has as null is undefined in TypeScript: the `next` of a page that has none. */
const withoutNull = (value: unknown): object =>
  JSON.parse(JSON.stringify(value), (_name, one: unknown) => one ?? undefined);
