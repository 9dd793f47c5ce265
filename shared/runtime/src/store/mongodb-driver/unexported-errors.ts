// Errors of the driver that can only be recognised by their names.
//
// Observed: the driver (mongodb 7.9.0) exports no class for two errors of its connection pool.

export const poolErrors: ReadonlySet<string> = new Set([
  'MongoPoolClosedError',
  'MongoWaitQueueTimeoutError',
]);
