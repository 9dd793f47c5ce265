// Whether a command to MongoDB says which shard it is for, by the shard keys that docs/operating.md tells operators to set.
import { readFile } from 'node:fs/promises';
import type { SentCommand } from '@integration-sync/runtime/store';
import type { Document } from 'mongodb';

/** The fields of a shard key, in order. */
export type ShardKey = Readonly<Record<string, 1 | 'hashed'>>;

export interface Sharding {
  keys: ReadonlyMap<string, ShardKey>;
  /** Collections that are not sharded. */
  whole: ReadonlySet<string>;
}

const page = new URL('../../docs/operating.md', import.meta.url);
const keyLine = /^sh\.shardCollection\('integration_sync\.(\w+)', \{ (.+) \}\);$/gm;
const wholeSentence = /Not sharded are ([^;.]+)[;.]/;

export async function readSharding(): Promise<Sharding> {
  const text = await readFile(page, 'utf8');
  const keys = Array.from(text.matchAll(keyLine), ([, collection = '', fields = '']): [string, ShardKey] => [
    collection,
    Object.fromEntries(
      fields.split(', ').map((field) => {
        const [name = '', kind = ''] = field.split(': ');
        return [name, kind === '1' ? 1 : 'hashed'];
      }),
    ),
  ]);
  const names = wholeSentence.exec(text)?.[1]?.matchAll(/`(\w+)`/g) ?? [];
  return { keys: new Map(keys), whole: new Set(Array.from(names, ([, name = '']) => name)) };
}

/** One filter or one inserted document: a command may have several. */
export interface Part {
  collection: string;
  command: string;
  /** The filter, or the inserted document. */
  content: Document;
  /** Whether the part concerns one document at most: MongoDB then needs the whole shard key. */
  isOne: boolean;
}

/** Commands that have no filter of documents; `getMore` goes on with a command that had one. */
const withoutFilter = new Set([
  'createIndexes',
  'endSessions',
  'getMore',
  'killCursors',
  'listCollections',
  'listIndexes',
  'ping',
]);

export function partsOf({ name, command }: SentCommand): Part[] {
  if (withoutFilter.has(name)) return [];
  const part = (content: Document, isOne: boolean): Part => ({
    collection: String(command[name]),
    command: name,
    content,
    isOne,
  });
  switch (name) {
    case 'insert':
      return command['documents'].map((document: Document) => part(document, true));
    case 'update':
      return command['updates'].map((one: Document) => part(one['q'], one['multi'] !== true));
    case 'delete':
      return command['deletes'].map((one: Document) => part(one['q'], one['limit'] === 1));
    case 'findAndModify':
      return [part(command['query'], true)];
    case 'find':
      return [part(command['filter'], false)];
    case 'aggregate':
      return [part(command['pipeline'][0]?.$match ?? {}, false)];
    case 'distinct':
      return [part(command['query'], false)];
    default:
      throw new Error(`where ${name} has its filter is not known here`);
  }
}

/** Whether mongos can choose the shards: one document needs the whole key, several documents only its first field. */
export function isTargeted({ content, isOne }: Part, key: ShardKey): boolean {
  const fields = Object.keys(key);
  return (isOne ? fields : fields.slice(0, 1)).every((field) => isEquality(content[field]));
}

/** Whether the value of an inserted document, or the condition of a filter, names exact values of the field. */
function isEquality(value: unknown): boolean {
  if (value === undefined || value === null) return false;
  if (typeof value !== 'object' || value instanceof Date) return true;
  const operators = Object.keys(value).filter((name) => name.startsWith('$'));
  return operators.length === 0 || operators.some((name) => name === '$eq' || name === '$in');
}
