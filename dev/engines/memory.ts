// What the engines remember from one start to the next: in the cache folder the source that served this user last, in the data
// folder the source and the port of its data. A start tries these hints and does not trust them, and goes on if it can neither
// read nor write a hint.
import { join } from 'node:path';
import { Type, type Static } from 'typebox';
import { readJsonAs, writeJson } from '../process/files.ts';
import { sources, type EngineName } from './engine.ts';

const Served = Type.Object({
  source: Type.Enum([...sources]),
  /** Why the sources before the chosen source did not serve when a start last tried them. */
  refused: Type.String(),
  port: Type.Optional(Type.Integer()),
});
export type Served = Static<typeof Served>;
const AllServed = Type.Object({ mongodb: Type.Optional(Served), nats: Type.Optional(Served) });

export interface Memory {
  recall(name: EngineName): Served | undefined;
  note(name: EngineName, served: Served): void;
}

export function openMemory(folder: string): Memory {
  const path = join(folder, 'served.json');
  const read = (): Static<typeof AllServed> => {
    try {
      return readJsonAs(path, AllServed) ?? {};
    } catch {
      return {};
    }
  };
  return {
    recall: (name) => read()[name],
    note(name, served) {
      try {
        writeJson(path, { ...read(), [name]: served });
      } catch {
        // Without this hint, the next start tries all sources in their usual order.
      }
    },
  };
}
