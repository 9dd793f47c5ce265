// A whole system of one test file's own: real processes, a NATS in a temporary folder, HTTP from outside. It
// uses a database in the run's own MongoDB, or a MongoDB of its own where a test takes that away.
// Every client is an integration that no other test knows. Wire shapes are written out where they are expected.
import { randomUUID } from 'node:crypto';
import { startStack, type Stack, type StackOptions } from '@integration-sync/dev/stack';
import { inject } from 'vitest';
import { temporaryFolder } from './folder.ts';
import { callHttp, type HttpAnswer } from './http.ts';

export interface TestStackOptions extends Pick<StackOptions, 'replicas' | 'environment'> {
  ownMongodb?: boolean;
}

export async function startTestStack({
  ownMongodb = false,
  ...options
}: TestStackOptions = {}): Promise<Stack> {
  await using starting = new AsyncDisposableStack();
  const folder = starting.use(await temporaryFolder());
  const stack = starting.use(
    await startStack({
      ...options,
      mainOf: (service) => inject('programs')[service],
      environment: {
        ...process.env,
        ...(ownMongodb ? {} : { MONGODB_URL: inject('engines').mongodb }),
        GATEWAY_PORT: '0',
        // The console would be built before the gateway starts, and few tests need it.
        CONSOLE: 'off',
        MONGODB_DATABASE: `test_${randomUUID()}`,
        ...options.environment,
      },
      folder: folder.path,
      temporary: true,
    }),
  );
  const release = starting.move();
  return Object.assign(stack, { [Symbol.asyncDispose]: () => release.disposeAsync() });
}

export interface Answer extends HttpAnswer {
  body: Record<string, unknown>;
}

export interface Client {
  readonly integration: string;
  get(path: string): Promise<Answer>;
  post(path: string, body: unknown): Promise<Answer>;
  send(method: string, path: string, body?: unknown): Promise<Answer>;
}

/** Paths are below `/api/v1/integration`, or whole, as in the header `Link`. */
export function openClient(stack: Stack, integration = `test-${randomUUID()}`): Client {
  const token = stack.token({ integration });
  const send = (method: string, path: string, body?: unknown): Promise<Answer> => {
    const whole = path.startsWith('/api/') ? path : `/api/v1/integration${path}`;
    return callHttp(`${stack.gateway}${whole}`, token, method, body);
  };
  return {
    integration,
    send,
    get: (path) => send('GET', path),
    post: (path, body) => send('POST', path, body),
  };
}
