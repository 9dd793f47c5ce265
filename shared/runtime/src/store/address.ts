// What MONGODB_URL asks for beside a place: what of it does not hold here, and what cannot be had. No IO.
import { createRequire } from 'node:module';
import type { MongoClient, MongoClientOptions } from 'mongodb';
import { ConfigError } from '../config/index.ts';

type Options = MongoClient['options'];

interface Need {
  asks: (options: Options) => boolean;
  /** As the address says it. */
  option: string;
  packageName: string;
  instead: string;
}

const isMechanism =
  (mechanism: string) =>
  ({ credentials }: Options): boolean =>
    credentials?.mechanism === mechanism;

/** The driver finds out that one of these is missing when it needs it first, which is in the middle of its work. */
const needs: readonly Need[] = [
  {
    asks: ({ compressors }) => compressors.includes('snappy'),
    option: 'compressors=snappy',
    packageName: 'snappy',
    instead: 'zstd or zlib, which Node brings',
  },
  {
    asks: isMechanism('GSSAPI'),
    option: 'authMechanism=GSSAPI',
    packageName: 'kerberos',
    instead: 'SCRAM-SHA-256 or MONGODB-X509',
  },
  {
    asks: isMechanism('MONGODB-AWS'),
    option: 'authMechanism=MONGODB-AWS',
    packageName: '@aws-sdk/credential-providers',
    instead: 'SCRAM-SHA-256 or MONGODB-X509',
  },
  {
    asks: ({ proxyHost }) => proxyHost !== undefined,
    option: 'proxyHost',
    packageName: 'socks',
    instead: 'a way to MongoDB without a SOCKS proxy',
  },
];

/** Throws where this process could not do its work in the way that the address asks for. */
export function checkAddress({ options }: MongoClient): void {
  const { mode } = options.readPreference;
  const problems = needs
    .filter(({ asks, packageName }) => asks(options) && !isInstalled(packageName))
    .map(
      ({ option, packageName, instead }) =>
        `${option} needs the package ${packageName}, which is not installed here: take ${instead}`,
    );
  if (mode !== 'primary')
    problems.unshift(
      `expected no readPreference other than primary, as what is read decides what is written, got ${mode}`,
    );
  if (problems.length > 0) throw new ConfigError(problems.map((problem) => `MONGODB_URL: ${problem}`));
}

function isInstalled(packageName: string): boolean {
  try {
    createRequire(import.meta.resolve('mongodb')).resolve(packageName);
    return true;
  } catch {
    return false;
  }
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
