// Reads the body of PUT /expectations: by kind of record either `{everyHours}` or null. Pure.
import {
  expectedKindNames as kinds,
  limits,
  pointerPart,
  quote,
  refuseIfAny,
  unknownAmong,
  unknownNamedMax,
  type ExpectedKind,
  type FailureEntry,
} from '@integration-sync/contracts';
import { parseJson } from '@integration-sync/runtime/json';
import { repeatedKeys } from '@integration-sync/runtime/json-keys';
import { describe, isObject } from '@integration-sync/sync';

/** The hours of expectations by kind of record. Null ends an expectation; the expectation of an absent kind is not changed. */
export type HoursByKind = ReadonlyMap<ExpectedKind, number | null>;

interface BodyOptions {
  /** The errors of the query. */
  ofQuery: readonly FailureEntry[];
  /** Whether an unknown key of an expectation is refused. An unknown kind of record is always refused. */
  strict: boolean;
}

/** The keys of an expectation in an answer to GET. A caller may send such an answer back unchanged. */
const known: ReadonlySet<string> = new Set(['everyHours', 'lastPushAt', 'dueAt', 'isOverdue']);

/** Throws invalid_request with all errors of the query and of the body. */
export function readBody(bytes: Uint8Array, { ofQuery, strict }: BodyOptions): HoursByKind {
  const errors = [...ofQuery];
  const body = parseJson(bytes);
  const hours = new Map<ExpectedKind, number | null>();
  if (!isObject(body)) {
    errors.push({ pointer: '', detail: 'The body must be a JSON object.' });
    refuseIfAny(errors);
    return hours;
  }
  errors.push(...repeatedIn(bytes));
  if (Object.keys(body).length === 0)
    errors.push({ pointer: '', detail: `The body must have at least one of ${kinds.join(', ')}.` });
  for (const name of unknownAmong(Object.keys(body), new Set(kinds)))
    errors.push({
      pointer: `/${pointerPart(name)}`,
      detail: `expected one of the kinds ${kinds.join(', ')}, got ${quote(name)}`,
    });
  for (const kind of kinds) {
    if (!Object.hasOwn(body, kind)) continue;
    const { value, wrong } = readOne(kind, body[kind], strict);
    errors.push(...wrong);
    if (value !== undefined) hours.set(kind, value);
  }
  refuseIfAny(errors);
  return hours;
}

function readOne(
  kind: ExpectedKind,
  given: unknown,
  strict: boolean,
): { value?: number | null; wrong: FailureEntry[] } {
  if (given === null) return { value: null, wrong: [] };
  if (!isObject(given)) {
    const detail = `${kind}: expected an object with everyHours, or null, got ${describe(given)}`;
    return { wrong: [{ pointer: `/${kind}`, detail }] };
  }
  const unknown = (strict ? unknownAmong(Object.keys(given), known) : []).map((name) => ({
    pointer: `/${kind}/${pointerPart(name)}`,
    detail: `${kind}: expected no field but ${[...known].join(', ')}, got ${quote(name)}`,
  }));
  const pointer = `/${kind}/everyHours`;
  if (!Object.hasOwn(given, 'everyHours'))
    return { wrong: [...unknown, { pointer, detail: `${kind}.everyHours is required` }] };
  const { everyHours } = given;
  if (isHours(everyHours)) return { value: everyHours, wrong: unknown };
  const expected = `a whole number from 1 to ${limits.expectedHoursMax}`;
  const detail = `${kind}.everyHours: expected ${expected}, got ${describe(everyHours)}`;
  return { wrong: [...unknown, { pointer, detail }] };
}

const isHours = (value: unknown): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= limits.expectedHoursMax;

const repeatedIn = (bytes: Uint8Array): FailureEntry[] =>
  repeatedKeys(new TextDecoder().decode(bytes))
    .slice(0, unknownNamedMax)
    .map((pointer) => ({
      pointer,
      detail: `expected each key once, got ${quote(pointer.slice(1))} twice`,
    }));
