import { RegisterWebhook, RotateSecret } from '@integration-sync/contracts';
import { expect, it } from 'vitest';
import { accept, bodyExaminer } from '../../../services/webhooks/src/api/request-body.ts';

const asked = (body: string, handling?: string) => ({
  body: Buffer.from(body),
  headers: new Map(handling === undefined ? [] : [['handling', handling]]),
});

it('a body with a misspelt key is accepted, and refused by strict handling with the nearest name', () => {
  const examine = bodyExaminer(RegisterWebhook);
  const body = '{"url":"https://a.example","events":["supplier.created"],"event":[]}';
  expect(examine(asked(body)).errors).toEqual([]);
  expect(examine(asked(body, 'lenient')).errors).toEqual([]);
  const unknown = { pointer: '/event', detail: 'unknown key "event": the nearest known one is "events"' };
  expect(examine(asked(body, 'strict')).errors).toEqual([unknown]);
  // Beside what else is wrong.
  const { errors } = examine(asked('{"url":"https://a.example","event":[]}', 'strict'));
  expect(errors).toEqual([{ pointer: '/events', detail: 'events is required' }, unknown]);
});

it('a value that breaks two rules has one entry, which says all that is expected', () => {
  const body = { url: 'https://a.example', events: ['supplier.created', 5], inFlightMax: 0.5 };
  const { errors } = bodyExaminer(RegisterWebhook)(asked(JSON.stringify(body)));
  expect(errors).toEqual([
    { pointer: '/events/1', detail: expect.stringMatching(/^events\/1: expected one of supplier.*, got 5$/) },
    { pointer: '/inFlightMax', detail: 'inFlightMax: expected a whole number of 1 or more, got 0.5' },
  ]);
});

it('an absent body has no unknown key', () => {
  const examine = bodyExaminer(RotateSecret, { optional: true });
  expect(accept(examine(asked('', 'strict')))).toEqual({});
  expect(() => accept(examine(asked('{"graceperiodseconds":1}', 'strict')))).toThrow(
    'unknown key "graceperiodseconds": the nearest known one is "gracePeriodSeconds"',
  );
});
