// Notes in the journal what became of pushes: one update for all that are within a short time.
import { setTimeout as wait } from 'node:timers/promises';
import type { Background } from './background.ts';

/** A note can wait a little for the next ones: until then an entry is only announced again by mistake. */
const delayMs = 200;

export interface NotesOptions {
  write: (syncIds: readonly string[]) => Promise<void>;
  onError: (error: unknown, syncIds: readonly string[]) => void;
  background: Background;
}

export function openNotes({ write, onError, background }: NotesOptions): (syncId: string) => void {
  let waiting: string[] = [];
  let isWriting = false;
  const writeAll = async (): Promise<void> => {
    while (waiting.length > 0) {
      await Promise.race([wait(delayMs, undefined, { ref: false }), background.closing]);
      const syncIds = waiting;
      waiting = [];
      await write(syncIds).catch((error: unknown) => onError(error, syncIds));
    }
    isWriting = false;
  };
  return (syncId) => {
    waiting.push(syncId);
    if (isWriting) return;
    isWriting = true;
    background.follow(writeAll());
  };
}
