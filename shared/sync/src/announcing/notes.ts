// Notes in the journal what became of pushes: one update for all that are within a short time.
import { setTimeout as wait } from 'node:timers/promises';
import { oneByOne, openBatcher } from '@integration-sync/runtime/batcher';
import type { Background } from './background.ts';

/** A note can wait a little for the next ones: until then an entry is only announced again by mistake. */
const delayMs = 200;

export interface NotesOptions {
  write: (syncIds: readonly string[]) => Promise<void>;
  onError: (error: unknown, syncIds: readonly string[]) => void;
  background: Background;
}

export function openNotes({ write, onError, background }: NotesOptions): (syncId: string) => void {
  const note = openBatcher<string, null>(
    async (syncIds) => {
      await write(syncIds).catch((error: unknown) => onError(error, syncIds));
      return syncIds.map(() => null);
    },
    Infinity,
    oneByOne({ pause: () => Promise.race([wait(delayMs, undefined, { ref: false }), background.closing]) }),
  );
  return (syncId) => background.follow(note(syncId));
}
