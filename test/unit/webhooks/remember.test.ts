import { expect, it } from 'vitest';
import { openConnections } from '../../../services/webhooks/src/sending/connections.ts';
import { remember } from '../../../services/webhooks/src/tools/remember.ts';

it('what is full forgets its oldest and keeps the others', () => {
  const known = new Map<string, number>();
  for (const [key, value] of [['a', 1], ['b', 2], ['c', 3], ['b', 4], ['d', 5]] as const) remember(known, key, value, 3); // prettier-ignore
  expect([...known]).toEqual([
    ['b', 4],
    ['c', 3],
    ['d', 5],
  ]);
});

const target = (port: number) => ({
  origin: `http://127.0.0.1:${port}`,
  authority: `127.0.0.1:${port}`,
  path: '/',
  host: '127.0.0.1',
  isLiteral: true,
  port,
  secure: false,
  addresses: ['127.0.0.1'],
});

it('a replica that keeps connections to too many addresses closes those that it has not used for longest', async () => {
  await using connections = openConnections({ setsMax: 2 });
  const to = (port: number) => connections.to(target(port), '127.0.0.1');
  const [first, second] = [to(1), to(2)];
  expect(to(1)).toBe(first);
  to(3);
  expect(to(1)).toBe(first);
  expect(to(2)).not.toBe(second);
});
