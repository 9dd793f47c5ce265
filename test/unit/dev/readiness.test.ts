import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { askReadiness } from '../../../dev/stack/readiness.ts';

it.each([
  [
    '{"title":"Temporarily unavailable","status":503,"detail":"catalog: MongoDB is away."}',
    'catalog: MongoDB is away.',
  ],
  ['nothing here', '503 nothing here'],
])(
  'a stack that is not ready gives the detail of the answer as the reason, or else the whole answer: %s',
  async (body, why) => {
    await using server = createServer((_request, response) => response.writeHead(503).end(body));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    expect(await askReadiness(`http://127.0.0.1:${port}`)).toEqual({ ready: false, why });
  },
);
