// What the engines remember from one start to the next: in the cache folder the source that served this user last, in the data
// folder the source and the port of its data. A start tries these hints and does not trust them, and goes on if it can neither
// read nor write a hint.
import { join } from 'node:path';
import { readJson, writeJson } from '../process/files.ts';
import { sources, type EngineName, type Source } from './engine.ts';

export interface Served {
  source: Source;
  /** Why the sources that come before the chosen source did not serve when a start last tried them. */
  refused: string;
  port?: number;
}

export interface Memory {
  recall(name: EngineName): Served | undefined;
  note(name: EngineName, served: Served): void;
}

export function openMemory(folder: string): Memory {
  const path = join(folder, 'served.json');
  const read = (): Record<string, unknown> => {
    try {
      const value = readJson(path);
      return typeof value === 'object' && value !== null ? { ...value } : {};
    } catch {
      return {};
    }
  };
  return {
    recall(name) {
      const value = read()[name];
      return isServed(value) ? value : undefined;
    },
    note(name, served) {
      try {
        writeJson(path, { ...read(), [name]: served });
      } catch {
        // Without the note, the next start tries the sources again.
      }
    },
  };
}

function isServed(value: unknown): value is Served {
  if (typeof value !== 'object' || value === null) return false;
  return (
    'source' in value &&
    sources.some((source) => source === value.source) &&
    'refused' in value &&
    typeof value.refused === 'string' &&
    (!('port' in value) || typeof value.port === 'number')
  );
}
