// Opens NATS and MongoDB for one command, which gives up after 10 s: a person waits for it.
import { setTimeout as wait } from 'node:timers/promises';
import { openBus, type Bus, type Forbidden } from '@integration-sync/runtime/bus';
import { maskAddresses, natsOptionsOf, parseNatsServers, readConfig } from '@integration-sync/runtime/config';
import { openLog, type Log } from '@integration-sync/runtime/log';
import { openStore, type Store } from '@integration-sync/runtime/store';
import type { Static } from 'typebox';
import { Refusal, type Caller } from './command.ts';
import type { PurgeConfig, StreamsConfig } from './config.ts';

/** The user in deploy/nats/nats.conf, with the inbox `_INBOX_ops` and the permissions that all commands need. */
const name = 'ops';
const patienceMs = 10_000;

interface CommandSettings<Config> extends Pick<Caller, 'stop'> {
  config: Config;
  log: Log;
}

/** The settings of a command, with a log on stderr. */
export function readSettings<Settings extends typeof StreamsConfig>(
  settings: Settings,
  { environment, output: { stderr }, stop }: Caller,
): CommandSettings<Readonly<Static<Settings>>> {
  const config = readConfig(settings, environment);
  const pretty = stderr.isTTY === true;
  const log = openLog({ service: name, level: config.LOG_LEVEL, pretty, destination: stderr });
  return { config, log, stop };
}

/** A bus for requests that the NATS login may not be permitted to send: without permission only the request fails. */
export const openQuietBus = ({ config }: CommandSettings<StreamsConfig>): Promise<Bus> =>
  openBus({ ...natsOptionsOf(config), name, log: openLog({ service: name, level: 'silent' }) });

/** A missing permission ends the command: nats-server drops the message, so that no answer would come. */
export async function openOpsBus({ config, log, stop }: CommandSettings<StreamsConfig>): Promise<Bus> {
  const onForbidden = (forbidden: Forbidden): void => stop(new Refusal(lackOf(forbidden, config)));
  return withinPatience(
    openBus({ ...natsOptionsOf(config), name, log, onForbidden }),
    `NATS_URL: NATS does not let this command in at ${maskAddresses(config.NATS_URL)}`,
  );
}

function lackOf({ operation, subject }: Forbidden, { NATS_URL, NATS_USER }: StreamsConfig): string {
  const user = parseNatsServers(NATS_URL)?.user ?? NATS_USER;
  const whom = user === undefined ? 'this login' : `the login "${user}"`;
  // Each run of a command has an inbox of its own. The error names the prefix of all these inboxes, as permissions do.
  const words = subject.replace(/^_INBOX_ops\..*/, '_INBOX_ops.>');
  const toDo =
    user === name
      ? 'Give the login all permissions that the user "ops" has there.'
      : 'Run this command with the login of that user in NATS_URL.';
  return (
    `NATS does not let ${whom} ${operation} to ${words}. In deploy/nats/nats.conf the user "ops" has this permission. ` +
    `${toDo} What was done stays done.`
  );
}

export async function openOpsStore({ config, log }: CommandSettings<PurgeConfig>): Promise<Store> {
  const { MONGODB_URL: url, MONGODB_DATABASE: database } = config;
  return withinPatience(
    openStore({ url, database, log }),
    `MONGODB_URL: MongoDB does not answer at ${maskAddresses(url)}`,
  );
}

/** Aborts work that waits for MongoDB or NATS while either is away, with a message for the person who waits. */
export async function withinPatience<T>(work: Promise<T>, words: string): Promise<T> {
  const late = wait(patienceMs, undefined, { ref: false }).then(() => {
    throw new Refusal(
      `${words} within ${patienceMs / 1_000} s. Is the engine up, and are these the settings of the services? The errors ` +
        'of the connection stand above.',
    );
  });
  return Promise.race([work, late]);
}
