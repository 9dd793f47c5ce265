// A proxy before a nats-server that kills the server when a client sends a certain text for the n-th time. The bytes
// with that text never reach the server.
import type { Engine } from '@integration-sync/dev/engines';
import { openEngineProxy } from './servers.ts';

export interface KillingProxy extends AsyncDisposable {
  readonly url: string;
  /** Resolves once the server is dead. The server stays dead until the test calls `nats.resume()`. */
  readonly hasKilled: Promise<void>;
}

export interface KillsAt {
  says: string;
  times?: number;
}

export async function openKillingProxy(nats: Engine, { says, times = 1 }: KillsAt): Promise<KillingProxy> {
  const hasKilled = Promise.withResolvers<void>();
  let left = times;
  let isKilling = false;
  const killNow = (): void => {
    isKilling = true;
    nats.hold();
    nats.kill().then(hasKilled.resolve, hasKilled.reject);
  };
  const proxy = await openEngineProxy(nats.url, (client, behind) => {
    client.on('data', (bytes: Buffer) => {
      if (left > 0) left -= bytes.toString('latin1').split(says).length - 1;
      if (left > 0 || isKilling) behind.write(bytes);
      else killNow();
    });
    client.on('close', () => behind.destroy());
    behind.pipe(client);
  });
  return { ...proxy, hasKilled: hasKilled.promise };
}
