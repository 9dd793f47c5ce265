// npm run service -- NAME: one more replica of a service against the running stack, in this terminal, until
// Ctrl-C or until the stack stops.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { sendSignal } from './process/identity.ts';
import { takeLock } from './process/lock.ts';
import { findPort } from './process/port.ts';
import { untilTold } from './process/signals.ts';
import { readFacts, type StackFacts } from './stack/facts.ts';
import { explainFailure, StartFailure } from './stack/failure.ts';
import { lockOf } from './stack/folder.ts';
import {
  mainOf,
  nodeFlags,
  repositoryFolder,
  serviceNames,
  type Service,
  type Settings,
} from './stack/services.ts';

const folder = join(repositoryFolder, '.local');
const lookEveryMs = 500;

try {
  process.exitCode = await run(parseName(process.argv.slice(2)));
} catch (error) {
  process.stderr.write(
    `${explainFailure(error) ?? (error instanceof Error ? error.stack : String(error))}\n`,
  );
  process.exitCode = 1;
}

function parseName(args: readonly string[]): Service {
  const service = serviceNames.find((name) => args.length === 1 && name === args[0]);
  if (service === undefined) throw new StartFailure(`Usage: npm run service -- ${serviceNames.join('|')}`);
  return service;
}

async function run(service: Service): Promise<number> {
  const facts = findStack();
  // The replica has its own session: otherwise a Ctrl-C would reach it twice, from the terminal and from this process.
  const child = spawn(process.execPath, [...nodeFlags, mainOf(service)], {
    env: { ...process.env, ...(await settingsOf(service, facts)) },
    stdio: 'inherit',
    detached: true,
  });
  const exit = once(child, 'exit');
  const { pid } = child;
  if (pid === undefined) throw new Error('Node.js could not be started as a child process');
  let toldToStop = false;
  const stop = (): void => {
    toldToStop = true;
    sendSignal(pid, 'SIGTERM');
  };
  void untilTold().then(stop);
  const look = setInterval(() => {
    if (isGone(facts)) stop();
  }, lookEveryMs);
  const [code] = await exit;
  clearInterval(look);
  if (typeof code === 'number') return code;
  // No exit code: SIGTERM came before the replica listened to signals.
  return toldToStop ? 0 : 1;
}

function findStack(): StackFacts {
  const facts = readFacts(folder);
  using unused = takeLock(lockOf(folder));
  if (facts === undefined || unused !== undefined) {
    throw new StartFailure('There is no local stack to add a replica to: run npm start first.');
  }
  return facts;
}

/** Whether the stack has stopped, or another stack with other engines runs in its folder. */
function isGone(facts: StackFacts): boolean {
  const now = readFacts(folder);
  return now?.nats !== facts.nats || now.mongodb !== facts.mongodb;
}

/** The settings of the new replica: a second gateway gets another port. */
async function settingsOf(service: Service, facts: StackFacts): Promise<Settings> {
  const settings = facts.settings[service] ?? {};
  if (service !== 'gateway') return settings;
  const port = process.env['GATEWAY_PORT'] ?? String(await findPort());
  return { ...settings, GATEWAY_PORT: port };
}
