// The body of what is done with records that are there already: their ids, and nothing else.
import { Failure, limits, refuseIfAny, type FailureEntry } from '@integration-sync/contracts';
import { readItems, readObject } from './body.ts';

const name = 'externalIds';

/** As they came: nothing is known about any of them yet. Throws invalid_request, with everything that is wrong. */
export function readIdsBody(bytes: Uint8Array): readonly unknown[] {
  const body = readObject(bytes, name);
  const errors: FailureEntry[] = [];
  const given = readItems(body, name, errors);
  // What a caller means by another key may be to spare some of them.
  const others = Object.keys(body).filter((key) => key !== name);
  for (const key of others.slice(0, othersNamedMax)) {
    const detail = `The body must be a JSON object with an array "${name}" and nothing else.`;
    errors.push({ pointer: pointerTo(key), detail });
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

/** A body may have a million keys, and a key of a million characters. */
const othersNamedMax = 10;
const keyCharactersMax = 100;

/** As RFC 6901 wants it. */
const pointerTo = (key: string): string =>
  `/${key.slice(0, keyCharactersMax).toWellFormed().replaceAll('~', '~0').replaceAll('/', '~1')}`;
