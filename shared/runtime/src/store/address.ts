// Checks the options in MONGODB_URL: options that the service overrides, and options that this process cannot honour. No IO.
import type { MongoClient, MongoClientOptions } from 'mongodb';
import { ConfigError } from '../config/index.ts';
import { missingPackages } from './mongodb-driver/optional-packages.ts';

/** Throws for an option that this process cannot honour. */
export function checkAddress({ options }: MongoClient): void {
  const { mode } = options.readPreference;
  const problems = missingPackages(options);
  if (mode !== 'primary')
    problems.unshift(`expected no readPreference other than primary, as writes depend on reads, got ${mode}`);
  if (problems.length > 0) throw new ConfigError(problems.map((problem) => `MONGODB_URL: ${problem}`));
}

/** The options of the address that `ours` override, each as `w=1: majority`. */
export function overriddenIn(address: string, ours: MongoClientOptions): string[] {
  const holding = new Map(Object.entries(ours).map(([name, value]) => [name.toLowerCase(), String(value)]));
  return [...optionsIn(address)].flatMap(([name, value]) => {
    const held = holding.get(name);
    return held === undefined || held === value ? [] : [`${name}=${value}: ${held}`];
  });
}

/** The options of an address by their names in lower case: the driver ignores case. */
export const optionsIn = (address: string): ReadonlyMap<string, string> =>
  new Map(
    Array.from(new URLSearchParams(address.split('?')[1] ?? ''), ([name, value]) => [
      name.toLowerCase(),
      value,
    ]),
  );
