// Connects to a nats-server by the settings of a service, as an environment holds them.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openBus, type Bus } from '@integration-sync/runtime/bus';
import { natsOptionsOf, natsSettings, readConfig, type Environment } from '@integration-sync/runtime/config';
import { Type } from 'typebox';
import { onTestFinished } from 'vitest';
import { eventually } from './eventually.ts';
import { temporaryFolder } from './folder.ts';
import { openTestLog } from './log.ts';

const schema = Type.Object(natsSettings);

/** Writes each text to a file, with the newline that editors add; returns the settings `<NAME>_FILE`. */
export async function inFiles(texts: Readonly<Record<string, string>>): Promise<Record<string, string>> {
  const folder = await temporaryFolder();
  onTestFinished(() => folder[Symbol.asyncDispose]());
  const paths: Record<string, string> = {};
  for (const [name, text] of Object.entries(texts)) {
    const path = join(folder.path, name);
    await writeFile(path, `${text.trimEnd()}\n`);
    paths[`${name}_FILE`] = path;
  }
  return paths;
}

export interface Coming {
  readonly bus: Promise<Bus>;
  logText: () => string;
}

/** Connects, and waits like a service until nats-server accepts the login, or the test is over. */
export function comeIn(environment: Environment, name = 'test'): Coming {
  const { log, text } = openTestLog();
  const over = new AbortController();
  const options = { ...natsOptionsOf(readConfig(schema, environment)), name, log, signal: over.signal };
  const bus = openBus(options);
  onTestFinished(async () => {
    over.abort();
    await bus.then(
      (open) => open[Symbol.asyncDispose](),
      () => undefined,
    );
  });
  return { bus, logText: text };
}

/**
 * Less than the 5 s after which a waiting connection logs its reason in any case. The first two attempts to connect may
 * time out after 2 s each, with 250 ms in between.
 */
const reasonWithinMs = 4_900;

/** The reason in the first log line that says that the connection waits. */
export async function reasonOfWait({ bus, logText }: Coming): Promise<string> {
  const isIn = bus.then(() => true);
  isIn.catch(() => undefined);
  const text = eventually(logText, (lines) => lines.includes('waiting for nats'), reasonWithinMs);
  const first = await Promise.race([isIn, text]);
  if (first === true) throw new Error('nats-server accepted the login');
  const line = String(first)
    .split('\n')
    .find((one) => one.includes('waiting for nats'));
  return JSON.parse(line ?? '{}').err.message;
}
