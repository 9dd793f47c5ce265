// One running replica of a service: kept running, logged into a file of its own, and shown on the screen only
// when something is wrong.
import { join } from 'node:path';
import { startChild, type Child } from '../process/child.ts';
import type { Ledger } from '../process/ledger.ts';
import { openLogFile } from '../process/logfile.ts';
import { readLine, type LogLine } from './lines.ts';
import { nodeFlags, type Service, type Settings } from './services.ts';

export interface Replica {
  readonly service: Service;
  readonly name: string;
  readonly child: Child;
  /** The address of the replica's metrics, once the replica has logged it. */
  metricsUrl(): string | undefined;
}

export interface ReplicaOptions {
  service: Service;
  /** The number of the replica; the first is 1. */
  number: number;
  settings: Settings;
  environment: NodeJS.ProcessEnv;
  /** The program to run. */
  main: string;
  logFolder: string;
  ledger: Ledger;
  stopWithinMs: number;
  /** Lines of level warn and above, and lines that are no log lines. */
  onTrouble: (name: string, line: LogLine) => void;
  onChange: () => void;
  onDeath: (name: string, how: string, againInMs: number | undefined, lastLines: readonly string[]) => void;
}

/** A killed replica is back within 5 s: the longest pause, and a start of well under two seconds. */
const backoff = { firstMs: 200, maxMs: 3_000, settledAfterMs: 10_000 };

export async function startReplica(options: ReplicaOptions): Promise<Replica> {
  const { service, number, settings, environment, logFolder, ledger, stopWithinMs, onTrouble, onChange } =
    options;
  const name = number === 1 ? service : `${service}-${number}`;
  const log = openLogFile(join(logFolder, `${name}.log`));
  let metricsUrl: string | undefined;
  const child = await startChild({
    name,
    command: process.execPath,
    args: [...nodeFlags, options.main],
    environment: { ...environment, ...settings },
    backoff,
    stopWithinMs,
    onLine(text) {
      log.write(text);
      const line = readLine(text);
      if (line.metrics !== undefined && line.metrics !== metricsUrl) {
        metricsUrl = line.metrics;
        onChange();
      }
      if (line.isTrouble) onTrouble(name, line);
    },
    onStopped: () => log[Symbol.dispose](),
    onStart(pid) {
      ledger.enter(name, pid);
      onChange();
    },
    onDeath({ how, againInMs, lastLines }) {
      metricsUrl = undefined;
      onChange();
      options.onDeath(name, how, againInMs, lastLines);
    },
  });
  return { service, name, child, metricsUrl: () => metricsUrl };
}
