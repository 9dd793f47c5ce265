// What went wrong with the database, in the three words that a caller can act on: it is away (try again), another
// writer was first (a fact to work with), or this code has a mistake (nothing to do but to say so).
import { Failure } from '@integration-sync/contracts';
import {
  MongoBulkWriteError,
  MongoClientClosedError,
  MongoError,
  MongoExpiredSessionError,
  MongoNetworkError,
  MongoNotConnectedError,
  MongoServerClosedError,
  MongoServerError,
  MongoServerSelectionError,
  MongoTopologyClosedError,
} from 'mongodb';
import { DatabaseAway } from './mongodb-driver/operations.ts';
import { poolErrors } from './mongodb-driver/unexported-errors.ts';

export type StoreErrorKind = 'unavailable' | 'duplicate' | 'bug';

export function sortStoreError(error: unknown): StoreErrorKind {
  if (error instanceof MongoBulkWriteError) return sortBulkError(error);
  if (error instanceof MongoServerError) return sortServerError(error.code, error.message);
  return isAway(error) ? 'unavailable' : 'bug';
}

/** The failure to answer with when the database is away. Any other error is thrown as it is: it is a bug. */
export function storeFailure(error: unknown): Failure {
  if (error instanceof Failure) return error;
  if (sortStoreError(error) !== 'unavailable') throw error;
  return new Failure('unavailable', 'The database is not available at the moment.', {
    retryAfterSeconds: 2,
    cause: error,
  });
}

/** Whether the document was inserted; false if another writer inserted one of the same id before. */
export async function isFirst(inserting: Promise<unknown>): Promise<boolean> {
  try {
    await inserting;
    return true;
  } catch (error) {
    if (sortStoreError(error) !== 'duplicate') throw error;
    return false;
  }
}

/**
 * Which operations of an unordered write lost to a document that is already there, by their index.
 * Throws the error again if anything else failed as well.
 */
export function duplicateIndexes(error: unknown): number[] {
  if (!(error instanceof MongoBulkWriteError) || sortBulkError(error) !== 'duplicate') throw error;
  return writeErrorsOf(error).map((failed) => failed.index);
}

function sortBulkError(error: MongoBulkWriteError): StoreErrorKind {
  // The driver wraps whatever stopped a bulk write as a whole, and keeps the original here.
  const whole: unknown = error.errorResponse;
  if (whole instanceof Error) return sortStoreError(whole);
  const kinds = new Set(writeErrorsOf(error).map(({ code, errmsg }) => sortServerError(code, errmsg ?? '')));
  const undurable = error.result.getWriteConcernError();
  if (undurable !== undefined) kinds.add('unavailable');
  if (kinds.size === 0) return sortServerError(error.code, error.message);
  if (kinds.has('bug')) return 'bug';
  return kinds.has('unavailable') ? 'unavailable' : 'duplicate';
}

const writeErrorsOf = ({ writeErrors }: MongoBulkWriteError) =>
  Array.isArray(writeErrors) ? writeErrors : [writeErrors];

function sortServerError(code: unknown, message: string): StoreErrorKind {
  if (code === 11_000) return 'duplicate';
  if (typeof code === 'number' && awayCodes.has(code)) return 'unavailable';
  return postgresAway.test(message) ? 'unavailable' : 'bug';
}

// What a server says that is alive but cannot serve: it stops, it is no longer the primary, it took too long, its
// disk is full, or it could not make a write durable (which the caller must not take for done).
const awayCodes = new Set([
  6, // HostUnreachable
  7, // HostNotFound
  50, // MaxTimeMSExpired
  64, // WriteConcernTimeout
  89, // NetworkTimeout
  91, // ShutdownInProgress
  100, // UnsatisfiableWriteConcern
  133, // FailedToSatisfyReadPreference
  189, // PrimarySteppedDown
  262, // ExceededTimeLimit
  9_001, // SocketException
  10_058, // LegacyNotPrimary
  10_107, // NotWritablePrimary
  11_600, // InterruptedAtShutdown
  11_602, // InterruptedDueToReplStateChange
  13_435, // NotPrimaryNoSecondaryOk
  13_436, // NotPrimaryOrSecondary
  14_031, // OutOfDiskSpace
]);

// FerretDB is alive while the PostgreSQL behind it is not. It has no code of its own for that (1, or 4293 where the disk is
// full), only PostgreSQL's words.
const postgresAway =
  /failed to connect|connection refused|connection reset|broken pipe|unexpected EOF|terminating connection|conn closed|closed pool|database system is|too many clients|deadline exceeded|no space left|read-only transaction/i;

const awayErrors = [
  DatabaseAway,
  MongoNetworkError,
  MongoServerSelectionError,
  MongoNotConnectedError,
  MongoServerClosedError,
  MongoTopologyClosedError,
  MongoClientClosedError,
  // No operation here has a session of its own: the driver ends its own ones where it closes its connections.
  MongoExpiredSessionError,
];

const isAway = (error: unknown): boolean =>
  awayErrors.some((one) => error instanceof one) ||
  (error instanceof MongoError && poolErrors.has(error.name)) ||
  isBrokenSocket(error);

/** The driver passes on what Node says of a socket that the server closed while something was being sent. */
const isBrokenSocket = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && socketCodes.has(error.code);

const socketCodes = new Set<unknown>(['EPIPE', 'ECONNRESET', 'ECONNREFUSED', 'ERR_STREAM_DESTROYED']);
