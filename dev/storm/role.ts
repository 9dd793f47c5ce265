// One process of a storm, seen from within: it gets its orders over its channel, answers when each is done, and ends
// with the channel, however its starter ended.
import { endSignals } from '../process/signals.ts';

/** An order of the starter; `Done` is the reply. */
export interface Told {
  tell: string;
}
export interface Done {
  done: string;
  result?: unknown;
  failed?: string;
}

export type Deeds = Readonly<Record<string, () => Promise<unknown>>>;

export const folderOfRole = (): string => process.argv[2] ?? '';

export const say = (line: string): void => void process.send?.({ say: line });

/** `end` is done when the channel is gone, before the process exits. */
export function takeRole(deeds: Deeds, end: () => Promise<void> = async () => undefined): void {
  // The terminal signals them all at once; the starter decides which ends when.
  for (const signal of endSignals) process.on(signal, () => undefined);
  process.on('message', (message: Told) => {
    void carryOut(deeds, message.tell);
  });
  process.on('disconnect', () => {
    void end().finally(() => process.exit());
  });
}

async function carryOut(deeds: Deeds, name: string): Promise<void> {
  const done: Done = { done: name };
  try {
    done.result = await deeds[name]?.();
  } catch (error) {
    done.failed = error instanceof Error ? (error.stack ?? error.message) : String(error);
  }
  process.send?.(done);
}
