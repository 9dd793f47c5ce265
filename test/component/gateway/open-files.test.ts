// More connections than the limit of open files allows: the server alone, with a bound that a test can reach.
import { createServer } from '../../../services/gateway/src/server/server.ts';
import { openMetrics } from '@integration-sync/runtime/metrics';
import { expect, it } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { openTestLog } from '../../support/log.ts';
import { openRaw } from '../../support/raw-http.ts';

it('the gateway refuses a connection beyond its limit of open files, serves earlier connections, and logs what to raise', async () => {
  await using stack = new AsyncDisposableStack();
  const { log, text } = openTestLog();
  const metrics = stack.use(await openMetrics({ service: 'gateway', port: 0, host: '127.0.0.1' }));
  const app = createServer({
    requestTimeoutMs: 30_000,
    log,
    metrics,
    isStopping: () => false,
    connectionsMax: 2,
  });
  stack.defer(() => app.server.closeAllConnections());
  stack.defer(() => void app.close());
  app.get('/', async () => 'served');
  const port = Number(new URL(await app.listen({ host: '127.0.0.1', port: 0 })).port);
  const request = 'GET / HTTP/1.1\r\nhost: x\r\n\r\n';

  using first = await openRaw(port);
  first.send(request);
  expect(await first.answer()).toMatchObject({ status: 200 });
  using second = await openRaw(port);
  second.send(request);
  expect(await second.answer()).toMatchObject({ status: 200 });

  using third = await openRaw(port);
  await third.closed;
  await eventually(
    async () => text(),
    (said) => said.includes('ulimit -n'),
  );
  first.send(request);
  expect(await first.answer()).toMatchObject({ status: 200 });
});
