import { expect, it } from 'vitest';
import { openConnections } from '../../../services/webhooks/src/connections.ts';

const target = (host: string) => ({
  origin: `https://${host}`,
  authority: host,
  path: '/',
  host,
  isLiteral: false,
  port: 443,
  secure: true,
  address: '93.184.216.34',
});

it('connections are kept for those who were sent to last, where there are too many to keep', async () => {
  await using connections = openConnections();
  const busy = connections.to(target('busy.example')).dispatcher;
  const idle = connections.to(target('idle.example')).dispatcher;
  for (let n = 0; n < 1_998; n += 1) connections.to(target(`${n}.example`));
  connections.to(target('busy.example'));
  connections.to(target('one-more.example'));
  expect(connections.to(target('busy.example')).dispatcher).toBe(busy);
  expect(connections.to(target('idle.example')).dispatcher).not.toBe(idle);
});
