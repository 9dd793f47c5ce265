// The first look at a push: bytes to JSON, the envelope, the count. What is wrong here refuses the whole request.
import { Failure, limits } from '@integration-sync/contracts';
import { parseJson } from '@integration-sync/runtime/json';
import type { Kind } from './kind.ts';

export interface PushBody {
  /** As they came: nothing is known about any of them yet. */
  items: readonly unknown[];
  drafting: boolean;
}

export function readPush(kind: Kind, bytes: Uint8Array): PushBody {
  const body = parseJson(bytes);
  if (!isObject(body)) throw invalid('', `The body must be a JSON object with an array "${kind.plural}".`);
  const items = own(body, kind.plural);
  if (!Array.isArray(items))
    throw invalid(`/${kind.plural}`, `The body must hold an array "${kind.plural}".`);
  const drafting = readFlag(body, kind.drafting?.flag);
  if (items.length > limits.itemsPerPushMax) {
    throw new Failure(
      'too_many_items',
      `A push takes at most ${limits.itemsPerPushMax} items; this one has ${items.length}.`,
    );
  }
  return { items, drafting };
}

function readFlag(body: object, name: string | undefined): boolean {
  if (name === undefined) return false;
  const flag = own(body, name);
  if (flag === undefined || typeof flag === 'boolean') return flag ?? false;
  throw invalid(`/${name}`, `"${name}" must be true or false.`);
}

const invalid = (pointer: string, detail: string): Failure =>
  new Failure('invalid_request', detail, { errors: [{ pointer, detail }] });

export const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A property that was really sent; `constructor` and its like are there on every object. */
export const own = (from: object, name: string): unknown =>
  Object.hasOwn(from, name) ? Reflect.get(from, name) : undefined;
