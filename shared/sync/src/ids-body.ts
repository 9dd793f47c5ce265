// The body of what is done with records that are there already: their ids, and nothing else.
import { Failure, limits, refuseIfAny, type FailureEntry } from '@integration-sync/contracts';
import { parseJson } from '@integration-sync/runtime/json';
import { isObject, own } from './body.ts';

const name = 'externalIds';

/** As they came: nothing is known about any of them yet. Throws invalid_request, with everything that is wrong. */
export function readIdsBody(bytes: Uint8Array): readonly unknown[] {
  const body = parseJson(bytes);
  const form = `The body must be a JSON object with an array "${name}"`;
  if (!isObject(body)) {
    const detail = `${form}.`;
    throw new Failure('invalid_request', detail, { errors: [{ pointer: '', detail }] });
  }
  const ids = own(body, name);
  const errors: FailureEntry[] = [];
  if (!Array.isArray(ids))
    errors.push({ pointer: `/${name}`, detail: `The body must hold an array "${name}".` });
  // What a caller means by another key may be to spare some of them.
  const others = Object.keys(body).filter((key) => key !== name);
  for (const key of others.slice(0, othersNamedMax)) {
    errors.push({ pointer: pointerTo(key), detail: `${form} and nothing else.` });
  }
  refuseIfAny(errors);
  const given: readonly unknown[] = Array.isArray(ids) ? ids : [];
  if (given.length > limits.itemsPerPushMax) {
    throw new Failure(
      'too_many_items',
      `A request takes at most ${limits.itemsPerPushMax} externalIds; this one has ${given.length}.`,
    );
  }
  return given;
}

/** A body may have a million keys, and a key of a million characters. */
const othersNamedMax = 10;
const keyCharactersMax = 100;

/** As RFC 6901 wants it. */
const pointerTo = (key: string): string =>
  `/${key.slice(0, keyCharactersMax).toWellFormed().replaceAll('~', '~0').replaceAll('/', '~1')}`;
