import { readTraceparent, traceIdOf } from '@integration-sync/runtime/tracing';
import { expect, it } from 'vitest';

const given = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';

it('the trace id of a traceparent is read', () => {
  expect(readTraceparent(given)).toBe(given);
  expect(traceIdOf(given)).toBe('4bf92f3577b34da6a3ce929d0e0e4736');
  expect(traceIdOf(undefined)).toBeUndefined();
});

it.each([
  undefined,
  '',
  'x',
  `${given}-x`,
  `${given}\r\nx: 1`,
  given.toUpperCase(),
  given.replace('00-', '01-'),
  given.replace('4bf92f3577b34da6a3ce929d0e0e4736', '0'.repeat(32)),
  given.replace('00f067aa0ba902b7', '0'.repeat(16)),
  [given],
])('no trace id is read from %j', (text) => {
  expect(readTraceparent(text)).toBeUndefined();
});
