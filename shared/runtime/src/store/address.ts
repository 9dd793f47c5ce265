// What MONGODB_URL asks for beside a place: what of it does not hold here, and what cannot be had. No IO.
import type { MongoClient, MongoClientOptions } from 'mongodb';
import { ConfigError } from '../config/index.ts';
import { missingPackages } from './mongodb-driver/optional-packages.ts';

/** Throws where this process could not do its work in the way that the address asks for. */
export function checkAddress({ options }: MongoClient): void {
  const { mode } = options.readPreference;
  const problems = missingPackages(options);
  if (mode !== 'primary')
    problems.unshift(
      `expected no readPreference other than primary, as what is read decides what is written, got ${mode}`,
    );
  if (problems.length > 0) throw new ConfigError(problems.map((problem) => `MONGODB_URL: ${problem}`));
}

/** The options of an address in whose place these hold, as `w=1: majority`. */
export function overriddenIn(address: string, ours: MongoClientOptions): string[] {
  const holding = new Map(Object.entries(ours).map(([name, value]) => [name.toLowerCase(), String(value)]));
  return [...optionsIn(address)].flatMap(([name, value]) => {
    const held = holding.get(name);
    return held === undefined || held === value ? [] : [`${name}=${value}: ${held}`];
  });
}

/** By their names in lower case, as the driver takes them in any. */
export const optionsIn = (address: string): ReadonlyMap<string, string> =>
  new Map(
    Array.from(new URLSearchParams(address.split('?')[1] ?? ''), ([name, value]) => [
      name.toLowerCase(),
      value,
    ]),
  );
