// Callers that hang up while the gateway fetches the keys that verify their tokens.
import { setTimeout as wait } from 'node:timers/promises';
import { openMetrics } from '@integration-sync/runtime/metrics';
import { expect, it } from 'vitest';
import { openBodyBudgets } from '../../../services/gateway/src/body/body-budgets.ts';
import { openUploads } from '../../../services/gateway/src/body/uploads.ts';
import { createServer } from '../../../services/gateway/src/server/server.ts';
import { eventually } from '../../support/eventually.ts';
import { openTestLog } from '../../support/log.ts';
import { openRaw } from '../../support/raw-http.ts';

const bytesMax = 5 * 1024 * 1024;
const callers = 5;

it('callers that disconnect leave no upload in the memory of the gateway', async () => {
  await using stack = new AsyncDisposableStack();
  const app = createServer({
    requestTimeoutMs: 30_000,
    log: openTestLog().log,
    metrics: stack.use(await openMetrics({ service: 'gateway', port: 0, host: '127.0.0.1' })),
    isStopping: () => false,
  });
  stack.defer(() => app.close());
  const budgets = openBodyBudgets(bytesMax);
  const uploads = stack.use(openUploads(budgets, 100));
  let ended = 0;
  // As in request-checks.ts, the token comes first, then the body.
  app.post('/push', {
    onRequest: () => wait(300),
    async preValidation(request, reply) {
      try {
        request.body = await uploads.collect(request, reply, bytesMax);
      } finally {
        ended += 1;
      }
    },
    handler: () => 'ok',
  });
  const port = Number(new URL(await app.listen({ host: '127.0.0.1', port: 0 })).port);
  for (let n = 0; n < callers; n += 1) {
    using connection = await openRaw(port);
    connection.send(
      'POST /push HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 50000\r\n\r\n{"suppliers":[',
    );
    await wait(50);
  }
  await eventually(
    () => ended,
    (count) => count === callers,
  );
  expect(budgets.memory.shareCount).toBe(0);
});
