// Variables whose names are nearly those of settings: a process ignores them, so a misspelt limit would be missing without a sign.
import { nearestWithin } from '@integration-sync/contracts';
import type { TObject } from 'typebox';
import { listSettings, type Environment } from './explain.ts';

/** Letters that may be missing, too many, wrong or swapped: RATE_LIMIT_REQUEST, MONGODB_URI. */
const mistakesMax = 2;
/** In a shorter name, two wrong letters may make another word. */
const charactersMin = 7;

/** A sentence for each misspelt variable, without its value. */
export function nearNames(schema: TObject, environment: Environment): string[] {
  const known = new Set(
    listSettings(schema).flatMap(({ name, inFile }) => (inFile ? [name, `${name}_FILE`] : [name])),
  );
  return Object.keys(environment).flatMap((name) => {
    if (known.has(name) || name.length < charactersMin) return [];
    const nearest = nearestWithin(name, known, mistakesMax);
    return nearest === undefined ? [] : [`${name} is no setting and is ignored: is ${nearest} meant?`];
  });
}
