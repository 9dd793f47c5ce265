// The code inside each process of a storm: gets orders over the IPC channel, answers when each is done, and ends with the channel,
// however its starter ended.
import { setTimeout as wait } from 'node:timers/promises';
import { openLog } from '@integration-sync/runtime/log';
import { endSignals } from '../process/signals.ts';
import { clockMs, openLedgerFile } from './ledger.ts';

/** The reply to an order of the starter. */
export interface Done {
  done: string;
  result?: unknown;
  failed?: string;
}

export const folder = process.argv[2] ?? '';

export const log = openLog({ service: 'storm', level: 'silent' });

/** Aborted when the starter stops this process. */
export const stop = new AbortController();
export const stopped = stop.signal;

/** A pause that ends early when the starter stops this process. */
export const pause = async (ms: number): Promise<void> =>
  wait(ms, undefined, { signal: stopped }).catch(() => undefined);

export const say = (line: string): void => void process.send?.({ say: line });

/** Notes a failure of the storm itself. A storm with a note does not pass. */
export function note(text: string): void {
  using notes = openLedgerFile(folder, 'notes');
  notes.write({ atMs: clockMs(), note: text });
}

export const noteFailure = (error: unknown): void => note(String(error));

/** `end` is done when the channel is gone, before the process exits. */
export function takeRole(
  deeds: Readonly<Record<string, () => Promise<unknown>>>,
  end: () => Promise<void> = async () => undefined,
): void {
  // All processes of a storm ignore the terminal's signals: the starter decides when each process ends.
  for (const signal of endSignals) process.on(signal, () => undefined);
  process.on('message', ({ tell: done }: { tell: string }) => {
    const send = (reply: Omit<Done, 'done'>): void => void process.send?.({ done, ...reply });
    Promise.resolve(deeds[done]?.()).then(
      (result) => send({ result }),
      (error: unknown) => send({ failed: error instanceof Error ? `${error.stack}` : String(error) }),
    );
  });
  process.on('disconnect', () => void end().finally(() => process.exit()));
}
