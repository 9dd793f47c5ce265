import { expect, it } from 'vitest';
import type { Client } from '../../../services/gateway/src/clients/clients-file.ts';
import { openFailures } from '../../../services/gateway/src/oauth/wrong-secrets.ts';

// How many wrong secrets may come for a client within a minute.

const clientOf = (id: string): Client => ({ id, integration: 'acme', scopes: [], secrets: [] });
const begunAtMs = 1_000_000;

function open() {
  const clock = { nowMs: begunAtMs };
  const count = openFailures(() => clock.nowMs);
  const fail = (client: Client | undefined, times = 1): (number | undefined)[] =>
    Array.from({ length: times }, () => count(client));
  return { clock, fail };
}

it('thirty wrong secrets are allowed within a minute for each client, and for all unknown client ids together', () => {
  const { fail } = open();
  const [erp, pim] = [clientOf('erp'), clientOf('pim')];
  for (const client of [erp, undefined]) {
    expect(new Set(fail(client, 30))).toEqual(new Set([undefined]));
    expect(fail(client)).toEqual([60]);
  }
  expect(fail(pim)).toEqual([undefined]);
});

it('Retry-After for wrong secrets lasts to the end of the minute, rounded up', () => {
  const { clock, fail } = open();
  const erp = clientOf('erp');
  fail(erp, 30);
  clock.nowMs += 59_001;
  expect(fail(erp)).toEqual([1]);
  clock.nowMs -= 2;
  expect(fail(erp)).toEqual([2]);
  clock.nowMs = begunAtMs + 60_000;
  expect(fail(erp)).toEqual([undefined]);
});

it('a clock that is set back begins a new minute of wrong secrets', () => {
  const { clock, fail } = open();
  const erp = clientOf('erp');
  fail(erp, 30);
  clock.nowMs -= 3_600_000;
  expect(fail(erp)).toEqual([undefined]);
});
