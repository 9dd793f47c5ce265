// Reads the body of a push, and checks all but its items. An error here refuses the whole request.
import { Failure, limits, refuseIfAny, unknownKeys, type FailureEntry } from '@integration-sync/contracts';
import { parseItems } from '@integration-sync/runtime/json';
import { nameHider, type HideNames } from '@integration-sync/runtime/json-structure';
import type { Item, Kind } from '../kind.ts';

export interface PushBody {
  /** The items as the caller sent them, not validated yet. */
  items: readonly unknown[];
  drafting: boolean;
  /** ExternalIds of referenced records that a plan treats as existing; empty in a push. */
  assume: readonly string[];
}

type IsId = (value: unknown) => value is string;

interface EnvelopeOptions {
  /** Whether an unknown key of the body is an error. */
  strict?: boolean;
  /** The errors of the query. */
  ofQuery?: readonly FailureEntry[];
  /** Checks the ids in `assume`, which only the body of a plan has. */
  isId?: IsId;
}

/** Throws invalid_request with all errors of the query, and of the body besides its items. */
export function readPush(
  kind: Kind,
  bytes: Uint8Array,
  { strict = false, ofQuery = [], isId }: EnvelopeOptions = {},
): PushBody {
  const errors = [...ofQuery];
  const body = readObject(bytes, { array: kind.plural, hide: hiderOf(kind) }, errors);
  const items = readItems(body, kind.plural, errors);
  const drafting = readFlag(body, kind.drafting?.flag, errors);
  const assume = isId === undefined ? [] : readIds(own(body, 'assume'), isId, errors);
  if (strict) {
    const keys = isId === undefined ? pushKeys(kind) : planKeys(kind);
    errors.push(...unknownKeys(body, new Set(keys)));
  }
  refuseIfAny(errors);
  refuseTooMany('A push', 'items', items.length);
  return { items, drafting, assume };
}

const pushKeys = ({ plural, drafting }: Kind): string[] => [
  plural,
  ...(drafting === undefined ? [] : [drafting.flag]),
];
const planKeys = (kind: Kind): string[] => [...pushKeys(kind), 'assume'];

/** By kind, the function that hides unknown keys in the text of a body (json-structure.ts). */
const hiders = new Map<Kind, HideNames>();
const hiderOf = (kind: Kind): HideNames =>
  hiders.getOrInsertComputed(kind, () =>
    nameHider([...planKeys(kind), ...Object.keys(kind.schema.properties)]),
  );

function readIds(value: unknown, isId: IsId, errors: FailureEntry[]): readonly string[] {
  if (value === undefined) return [];
  if (!Array.isArray(value) || value.length > limits.itemsPerPushMax) {
    const came = Array.isArray(value) ? `an array of ${value.length}` : 'something else';
    const detail = `"assume" must be an array of at most ${limits.itemsPerPushMax} externalIds; it is ${came}.`;
    errors.push({ pointer: '/assume', detail });
    return [];
  }
  return value.filter((externalId: unknown, index): externalId is string => {
    if (isId(externalId)) return true;
    const detail = `"assume" must hold externalIds only; item ${index} is none.`;
    errors.push({ pointer: `/assume/${index}`, detail });
    return false;
  });
}

function refuseTooMany(request: string, what: string, count: number): void {
  const { itemsPerPushMax } = limits;
  if (count <= itemsPerPushMax) return;
  const detail = `${request} takes at most ${itemsPerPushMax} ${what}; this one has ${count}.`;
  throw new Failure('too_many_items', detail);
}

/** Parses a body. If it is no JSON object, throws the given `errors` and one more, which names the needed `array`. */
function readObject(
  bytes: Uint8Array,
  { array, hide }: { array: string; hide: HideNames },
  errors: FailureEntry[],
): Item {
  const body = parseItems(bytes, hide);
  if (isObject(body)) return body;
  errors.push({ pointer: '', detail: `The body must be a JSON object with an array "${array}".` });
  refuseIfAny(errors);
  return {};
}

function readItems(body: Item, name: string, errors: FailureEntry[]): readonly unknown[] {
  const items = own(body, name);
  if (Array.isArray(items)) return items;
  errors.push({ pointer: `/${name}`, detail: `The body must hold an array "${name}".` });
  return [];
}

function readFlag(body: Item, name: string | undefined, errors: FailureEntry[]): boolean {
  const flag = name === undefined ? undefined : own(body, name);
  if (flag === undefined || typeof flag === 'boolean') return flag ?? false;
  errors.push({ pointer: `/${name}`, detail: `"${name}" must be true or false.` });
  return false;
}

export const isObject = (value: unknown): value is Item =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A property that the caller sent, not an inherited one such as `constructor`. */
export const own = (from: Item, name: string): unknown =>
  Object.hasOwn(from, name) ? from[name] : undefined;

// The body of archive and erase: an array of externalIds, and no other key.

const name = 'externalIds';
const known: ReadonlySet<string> = new Set([name]);
const hideOthers = nameHider(known);

/** The ids as the caller sent them, not validated yet. Throws invalid_request with all errors of the query and of the body. */
export function readIdsBody(bytes: Uint8Array, ofQuery: readonly FailureEntry[] = []): readonly unknown[] {
  const errors = [...ofQuery];
  const body = readObject(bytes, { array: name, hide: hideOthers }, errors);
  const given = readItems(body, name, errors);
  // An unknown key is refused, as the caller may mean it to exclude records.
  errors.push(...unknownKeys(body, known));
  refuseIfAny(errors);
  refuseTooMany('A request', name, given.length);
  return given;
}
