// A NATS of this folder's own: these tests kill it.
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEngine, type Engine } from '@integration-sync/dev/engines';
import { openBus, type Bus } from '@integration-sync/runtime/bus';
import { openLog } from '@integration-sync/runtime/log';

export const startNats = async (): Promise<Engine> =>
  startEngine('nats', {
    dataFolder: await mkdtemp(join(tmpdir(), 'integration-sync-bus-')),
    temporary: true,
  });

export const openTestBus = (url: string, name = 'test'): Promise<Bus> =>
  openBus({ url, name, log: openLog({ service: name, level: 'silent' }) });

/** Waits until `reads` gives what is asked for, or says what it gave last. */
export async function eventually<T>(
  reads: () => T | Promise<T>,
  holds: (value: T) => boolean,
  limitMs = 10_000,
): Promise<T> {
  const endsAt = Date.now() + limitMs;
  for (;;) {
    const value = await reads();
    if (holds(value)) return value;
    if (Date.now() > endsAt) throw new Error(`still ${JSON.stringify(value)} after ${limitMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

export const text = (body: Uint8Array): string => new TextDecoder().decode(body);
