// The versions of engines that are fetched and built, and the oldest versions that serve.
export const pins = {
  mongodbImage: 'mongo:8',
  natsImage: 'nats:2.15',
  mongod: '8.2.6',
  natsServer: '2.15.1',
  ferretdb: '2.7.0',
  postgresql: '18',
  /** The Debian release whose archive has PostgreSQL with DocumentDB. */
  debian: 'forky',
} as const;

/** From these versions on, NATS has atomic batches, and MongoDB has the newest wire version that the driver knows. */
export const minimums = { mongod: [7, 0], natsServer: [2, 12] } as const;

export type Version = readonly [major: number, minor: number];

/** The first version number in a text. */
export function parseVersion(text: string): Version | undefined {
  const [, major, minor] = /(\d+)\.(\d+)/.exec(text) ?? [];
  return major === undefined || minor === undefined ? undefined : [Number(major), Number(minor)];
}

export function isAtLeast(version: Version, minimum: Version): boolean {
  return version[0] > minimum[0] || (version[0] === minimum[0] && version[1] >= minimum[1]);
}
