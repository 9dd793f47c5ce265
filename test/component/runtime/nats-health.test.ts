// What a service says where nats-server's /healthz says 503. The words are those of a nats-server 2.15 with a full disk.
import { createServer } from 'node:http';
import { watchNatsHealth } from '../../../shared/runtime/src/nats-health.ts';
import { expect, it } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { openTestLog } from '../../support/log.ts';
import { startNats } from '../../support/nats.ts';
import { listen, type Listening } from '../../support/servers.ts';

const full = `JetStream stream '$G > EVENTS' write error: write /data/1.blk: no space left on device`;

it('/readyz notes an unhealthy nats-server without the cause, and the log has the cause', async () => {
  let error: string | undefined = full;
  await using monitor = await serveHealth(() => error);
  const { log, text } = openTestLog();
  await using health = watchNatsHealth(monitor.url, log, 20);
  const notes = async (): Promise<string[]> => health.notes();

  expect(await eventually(notes, (found) => found.length > 0)).toEqual([
    'NATS is not healthy; its disk took no write: make room there, then restart that nats-server.',
  ]);
  expect(text()).toContain('no space left on device');
  error = undefined;
  expect(await eventually(notes, (found) => found.length === 0)).toEqual([]);
  expect(text().match(/nats-server is (not healthy|healthy again)/g)).toEqual([
    'nats-server is not healthy',
    'nats-server is healthy again',
  ]);
});

it('the note of an unhealthy nats-server stays while its monitoring does not answer', async () => {
  let asked = 0;
  await using monitor = await serveHealth(() => {
    asked += 1;
    return asked === 1 ? full : 'no answer';
  });
  const { log, text } = openTestLog();
  await using health = watchNatsHealth(monitor.url, log, 20);
  await eventually(
    async () => asked,
    (count) => count > 3,
  );
  expect(health.notes()).toHaveLength(1);
  expect(text()).not.toContain('healthy again');
});

it('/readyz notes neither a healthy nats-server nor a nats-server without monitoring', async () => {
  const nats = await startNats();
  const { log, text } = openTestLog();
  await using health = watchNatsHealth(nats.monitorUrl, log, 20);
  let asked = 0;
  await using monitor = await serveHealth(() => {
    asked += 1;
    return undefined;
  });
  await using _beside = watchNatsHealth(monitor.url, log, 20);
  await eventually(
    async () => asked,
    (count) => count > 3,
  );
  await nats[Symbol.asyncDispose]();
  const before = asked;
  await eventually(
    async () => asked,
    (count) => count > before + 3,
  );
  expect(health.notes()).toEqual([]);
  expect(text()).toBe('');
});

function serveHealth(errorNow: () => string | undefined): Promise<Listening> {
  const server = createServer((request, response) => {
    const error = errorNow();
    if (error === 'no answer') {
      request.destroy();
      return;
    }
    response.writeHead(error === undefined ? 200 : 503);
    response.end(JSON.stringify(error === undefined ? { status: 'ok' } : { status: 'unavailable', error }));
  });
  return listen(server);
}
