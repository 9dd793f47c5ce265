// The start and the stop of a process. No other file listens to signals or sets an exit code.
//
//   what happens                    while starting                   while running
//   SIGINT, SIGTERM                 wait 2 s for the start, exit 0   release, exit 0
//   a second signal                 exit 1 immediately               exit 1 immediately
//   a wrong setting                 its problem on stderr, exit 1
//   an engine goes away             release, begin again
//   the start fails otherwise       fatal line, exit 1
//   an error that no code caught    fatal line, exit 1               fatal line, release, exit 1
//   release fails, or takes 15 s                                     fatal line, exit 1
//
// A start that fails half-way releases its resources before it rejects: each start keeps resources in an AsyncDisposableStack,
// which releases last-in-first-out.
import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { Type, type TObject } from 'typebox';
import { baseSettings, ConfigError, nearNames, readConfig } from './config/index.ts';
import { openLog, redactUrl, type Log } from './log.ts';
import { retry } from './retry.ts';

/**
 * Starts a service and resolves with its disposer; `stopping` aborts when the process is told to stop meanwhile. `misspelt` is a
 * note for `/readyz` on each variable whose name nearly is that of a setting.
 */
export type Start = (stopping: AbortSignal, misspelt: readonly string[]) => Promise<AsyncDisposable>;

export interface LifeOptions {
  /** The settings of the process: a warning names each variable whose name is nearly that of a setting. */
  settings?: TObject;
  /** Whether a start that fails with this error begins again, because an engine stopped answering during the start. */
  beginsAgainAfter?: (error: unknown) => boolean;
  /** How long a stopping process may take to release its resources. */
  stopMs?: number;
  /** How long the start may go on once the process is told to stop. A process that starts serves no caller yet. */
  startMs?: number;
}

const againMs = 500;

/** Runs until the process is told to stop, then ends it. */
export async function runProcess(name: string, start: Start, options: LifeOptions = {}): Promise<never> {
  const { stopMs = 15_000, startMs = 2_000, beginsAgainAfter = () => false, settings } = options;
  const log = openLog({ service: name, level: logLevel() });
  const end = listenForTheEnd(log);
  const misspelt = settings === undefined ? [] : nearNames(settings, process.env);
  if (misspelt.length > 0)
    log.warn({ misspelt }, 'environment variables are ignored: their names resemble those of settings');
  const started = retry(() => start(end.signal, misspelt), {
    mayRetry(error) {
      if (end.signal.aborted || !beginsAgainAfter(error)) return false;
      log.warn({ err: error }, 'NATS or MongoDB went away during the start, which begins again');
      return true;
    },
    pause: () => wait(againMs, undefined, { signal: end.signal }),
  }).catch((error: unknown) => {
    // A start that fails after the signal to stop counts as stopped.
    if (!end.signal.aborted) throw error;
    return undefined;
  });
  try {
    const tooLate = once(end.signal, 'abort').then(() => wait(startMs, undefined));
    const running = await Promise.race([started, tooLate]);
    if (!end.signal.aborted) await once(end.signal, 'abort');
    if (running !== undefined) await within(stopMs, running[Symbol.asyncDispose]());
    log.info('stopped');
  } catch (error) {
    end.exitCode = 1;
    if (error instanceof ConfigError)
      process.stderr.write(`${name} cannot start:\n${redactUrl(error.message).replaceAll(/^/gm, '  ')}\n`);
    else log.fatal({ err: error }, end.signal.aborted ? 'the stop failed' : 'the start failed');
  }
  process.exit(end.exitCode);
}

function listenForTheEnd(log: Log) {
  const stopping = new AbortController();
  const end = { signal: stopping.signal, exitCode: 0 };
  const stop = (reason: string): void => {
    if (end.signal.aborted) return;
    log.info({ reason }, 'stopping');
    stopping.abort();
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => (end.signal.aborted ? process.exit(1) : stop(signal)));
  }
  // Node reports unhandled rejections as `uncaughtException` too.
  process.on('uncaughtException', (error) => {
    log.fatal({ err: error }, 'an error that no code caught');
    end.exitCode = 1;
    stop('uncaught error');
  });
  return end;
}

async function within(limitMs: number, release: PromiseLike<void>): Promise<void> {
  const overrun = wait(limitMs).then(() => {
    throw new Error(`the resources of the process were not released within ${limitMs / 1_000} s`);
  });
  await Promise.race([release, overrun]);
}

/** A wrong LOG_LEVEL counts as `info` here: the service reports the problem together with those of other settings. */
function logLevel(): string {
  try {
    return readConfig(Type.Object({ LOG_LEVEL: baseSettings.LOG_LEVEL }), process.env).LOG_LEVEL;
  } catch {
    return 'info';
  }
}
