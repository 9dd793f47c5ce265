import { expect, it, vi } from 'vitest';
import { openConnections } from '../../../services/webhooks/src/sending/receiver-connections.ts';

const address = '93.184.216.34';
const target = (host: string) => ({
  origin: `https://${host}`,
  authority: host,
  path: '/',
  host,
  isLiteral: false,
  port: 443,
  secure: true,
  addresses: [address],
});

it('beyond the limit of connections, only connections to the latest receivers are kept', async () => {
  await using connections = openConnections();
  const busy = connections.to(target('busy.example'), address).dispatcher;
  const idle = connections.to(target('idle.example'), address).dispatcher;
  for (let n = 0; n < 1_998; n += 1) connections.to(target(`${n}.example`), address);
  vi.advanceTimersByTime(1);
  connections.to(target('busy.example'), address);
  connections.to(target('one-more.example'), address);
  expect(connections.to(target('busy.example'), address).dispatcher).toBe(busy);
  expect(connections.to(target('idle.example'), address).dispatcher).not.toBe(idle);
});

it('an unreachable address is used last, until it is reachable again', async () => {
  await using connections = openConnections();
  const addresses = ['93.184.216.34', '93.184.216.35', '93.184.216.36'];
  const several = { ...target('several.example'), addresses };
  const way = connections.to(several, '93.184.216.34');
  way.isDown = true;
  expect(connections.inOrder(several)).toEqual(['93.184.216.35', '93.184.216.36', '93.184.216.34']);
  way.isDown = false;
  expect(connections.inOrder(several)).toEqual(addresses);
});
