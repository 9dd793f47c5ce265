// Optional packages of the driver that an option in MONGODB_URL may need.
//
// Observed: the driver (mongodb 7.9.0) notices a missing package only at the first use, long after the start.
import { createRequire } from 'node:module';
import type { MongoClient } from 'mongodb';

type Options = MongoClient['options'];

interface Need {
  asks: (options: Options) => boolean;
  /** The option as the address spells it. */
  option: string;
  packageName: string;
  instead: string;
}

const isMechanism =
  (mechanism: string) =>
  ({ credentials }: Options): boolean =>
    credentials?.mechanism === mechanism;

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

export const missingPackages = (options: Options): string[] =>
  needs
    .filter(({ asks, packageName }) => asks(options) && !isInstalled(packageName))
    .map(
      ({ option, packageName, instead }) =>
        `${option} needs the package ${packageName}, which is not installed here: use ${instead}`,
    );

function isInstalled(packageName: string): boolean {
  try {
    createRequire(import.meta.resolve('mongodb')).resolve(packageName);
    return true;
  } catch {
    return false;
  }
}
