import { expect, it } from 'vitest';
import { openConnections } from '../../../services/webhooks/src/sending/receiver-connections.ts';

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

it('a replica with connections to too many addresses closes the connections that were unused for longest', async () => {
  await using connections = openConnections({ setsMax: 2 });
  const to = (port: number) => connections.to(target(port), '127.0.0.1');
  const [first, second] = [to(1), to(2)];
  expect(to(1)).toBe(first);
  to(3);
  expect(to(1)).toBe(first);
  expect(to(2)).not.toBe(second);
});
