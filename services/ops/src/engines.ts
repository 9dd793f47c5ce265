// The engines of one command. A service waits for its engines; a command is waited for by a person, and gives up.
import { setTimeout as wait } from 'node:timers/promises';
import { openBus, type Bus } from '@integration-sync/runtime/bus';
import { natsOptionsOf } from '@integration-sync/runtime/config';
import { openLog, redactUrl, type Log } from '@integration-sync/runtime/log';
import { openStore, type Store } from '@integration-sync/runtime/store';
import { Refusal } from './command.ts';
import type { PurgeConfig, StreamsConfig } from './config.ts';
import type { Output } from './output.ts';

/** Its inbox is `_INBOX_ops`: deploy/nats/nats.conf. */
const name = 'ops';
const patienceMs = 10_000;

export const openOpsLog = (
  { LOG_LEVEL: level }: Pick<StreamsConfig, 'LOG_LEVEL'>,
  { stderr }: Pick<Output, 'stderr'>,
): Log => openLog({ service: name, level, pretty: stderr.isTTY === true, destination: stderr });

export async function openOpsBus(config: StreamsConfig | PurgeConfig, log: Log): Promise<Bus> {
  return withinPatience(
    openBus({ ...natsOptionsOf(config), name, log }),
    `NATS_URL: NATS does not let this command in at ${redactUrl(config.NATS_URL)}`,
  );
}

export async function openOpsStore(
  config: Pick<PurgeConfig, 'MONGODB_URL' | 'MONGODB_DATABASE'>,
  log: Log,
): Promise<Store> {
  const { MONGODB_URL: url, MONGODB_DATABASE: database } = config;
  return withinPatience(
    openStore({ url, database, log }),
    `MONGODB_URL: MongoDB does not answer at ${redactUrl(url)}`,
  );
}

/** What waits for an engine that is away is cut off, with words for the person who waits. */
export async function withinPatience<T>(work: Promise<T>, words: string): Promise<T> {
  const late = wait(patienceMs, undefined, { ref: false }).then(() => {
    throw new Refusal(
      `${words} within ${patienceMs / 1_000} s. Is it up, and are these the settings of the services? What was ` +
        'met on the way stands above.',
    );
  });
  return Promise.race([work, late]);
}
