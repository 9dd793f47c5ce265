// Variables whose names are nearly those of settings: a process ignores them, so a misspelt limit would be missing unnoticed.
import { nearestWithin } from '@integration-sync/contracts';
import type { TObject } from 'typebox';
import { listSettings, type Environment } from './explain.ts';

/** How many letters may be missing, added, wrong or swapped, as in RATE_LIMIT_REQUEST and MONGODB_URI. */
const mistakesMax = 2;
/** Shorter names are not compared: a name of six letters that differs from a setting in two is often another word. */
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
