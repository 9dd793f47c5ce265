// The body of what is done with records that are there already: their ids, and nothing else.
import {
  Failure,
  limits,
  pointerPart,
  refuseIfAny,
  unknownAmong,
  type FailureEntry,
} from '@integration-sync/contracts';
import { readItems, readObject } from './body.ts';

const name = 'externalIds';
const known: ReadonlySet<string> = new Set([name]);

/** As they came: nothing is known about any of them yet. Throws invalid_request, with everything that is wrong. */
export function readIdsBody(bytes: Uint8Array): readonly unknown[] {
  const body = readObject(bytes, name);
  const errors: FailureEntry[] = [];
  const given = readItems(body, name, errors);
  // What a caller means by another key may be to spare some of them.
  for (const key of unknownAmong(Object.keys(body), known)) {
    const detail = `The body must be a JSON object with an array "${name}" and nothing else.`;
    errors.push({ pointer: `/${pointerPart(key)}`, detail });
  }
  refuseIfAny(errors);
  if (given.length > limits.itemsPerPushMax) {
    throw new Failure(
      'too_many_items',
      `A request takes at most ${limits.itemsPerPushMax} externalIds; this one has ${given.length}.`,
    );
  }
  return given;
}
