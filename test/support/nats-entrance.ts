// Coming in at a nats-server by the settings of a service, as its environment has them.
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

/** Each text in a file of its own, as `<NAME>_FILE`; with the newline at the end that editors make. */
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

/** Waits, as a service does, until it is let in or the test is over. */
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
 * Before the line that a wait says every 5 s. The first two attempts to connect may end by their time-out, which takes
 * 2 s, with 250 ms after each.
 */
const reasonWithinMs = 4_900;

/** What stands in the first line that says that it waits, and why. */
export async function reasonOfWait({ bus, logText }: Coming): Promise<string> {
  const isIn = bus.then(() => true);
  isIn.catch(() => undefined);
  const text = eventually(logText, (lines) => lines.includes('waiting for nats'), reasonWithinMs);
  const first = await Promise.race([isIn, text]);
  if (first === true) throw new Error('nats-server let it in');
  const line = String(first)
    .split('\n')
    .find((one) => one.includes('waiting for nats'));
  return JSON.parse(line ?? '{}').err.message;
}
