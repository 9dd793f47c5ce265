// Sorts errors of the database into four kinds: the database is unavailable (try again), it refuses what this service needs (its
// operator took a permission, a password or an index away), another writer was first (a duplicate), or the code has a bug.
import { Failure } from '@integration-sync/contracts';
import {
  MongoBulkWriteError,
  MongoClientClosedError,
  MongoError,
  MongoExpiredSessionError,
  MongoNetworkError,
  MongoNotConnectedError,
  MongoOperationTimeoutError,
  MongoServerClosedError,
  MongoServerError,
  MongoServerSelectionError,
  MongoTopologyClosedError,
} from 'mongodb';
import { DatabaseAway } from './mongodb-driver/running-operations.ts';
import { poolErrors } from './mongodb-driver/unexported-errors.ts';

export type StoreErrorKind = 'unavailable' | 'refused' | 'duplicate' | 'bug';

export function sortStoreError(error: unknown): StoreErrorKind {
  if (error instanceof MongoBulkWriteError) return sortBulkError(error);
  if (error instanceof MongoServerError) return sortServerError(error.code, error.message);
  return isAway(error) ? 'unavailable' : 'bug';
}

export const isStoreAway = (error: unknown): boolean => sortStoreError(error) === 'unavailable';

/** What a caller reads and when it may try again. An operator mends a refusal in minutes, an outage often ends by itself. */
const failures = {
  unavailable: { detail: 'The database is not available at the moment.', retryAfterSeconds: 2 },
  refused: {
    detail: 'The database refuses this service; an operator has to mend that.',
    retryAfterSeconds: 30,
  },
} as const;

/** The failure that a caller gets while the database is unavailable or refuses. Any other error is thrown again: it is a bug. */
export function storeFailure(error: unknown): Failure {
  if (error instanceof Failure) return error;
  const kind = sortStoreError(error);
  if (kind !== 'unavailable' && kind !== 'refused') throw error;
  const { detail, retryAfterSeconds } = failures[kind];
  return new Failure('unavailable', detail, { retryAfterSeconds, cause: error });
}

/** Wraps handlers, so that an outage of the database becomes a `Failure` and no error of the service. */
export const withStoreFailures = <Request, Reply>(
  handlers: Readonly<Record<string, (request: Request) => Promise<Reply>>>,
): Record<string, (request: Request) => Promise<Reply>> =>
  Object.fromEntries(
    Object.entries(handlers).map(([subject, handler]) => [
      subject,
      async (request: Request) => {
        try {
          return await handler(request);
        } catch (error) {
          throw storeFailure(error);
        }
      },
    ]),
  );

/** Whether the document was inserted; false if another writer had inserted a document of the same id. */
export async function isFirst(inserting: Promise<unknown>): Promise<boolean> {
  try {
    await inserting;
    return true;
  } catch (error) {
    if (sortStoreError(error) !== 'duplicate') throw error;
    return false;
  }
}

/** Whether the update found its document; false if another writer had changed what the filter names. */
export const isFound = async (updating: Promise<{ matchedCount: number }>): Promise<boolean> =>
  (await updating).matchedCount === 1;

/** The indexes of operations of an unordered write that met an existing document. Throws any other error again. */
export function duplicateIndexes(error: unknown): number[] {
  if (!(error instanceof MongoBulkWriteError) || sortBulkError(error) !== 'duplicate') throw error;
  return writeErrorsOf(error).map((failed) => failed.index);
}

const gravest = ['bug', 'refused', 'unavailable'] as const;

function sortBulkError(error: MongoBulkWriteError): StoreErrorKind {
  // `errorResponse` has the error that stopped the bulk write as a whole.
  const whole: unknown = error.errorResponse;
  if (whole instanceof Error) return sortStoreError(whole);
  const kinds = new Set(writeErrorsOf(error).map(({ code, errmsg }) => sortServerError(code, errmsg ?? '')));
  const undurable = error.result.getWriteConcernError();
  if (undurable !== undefined) kinds.add('unavailable');
  if (kinds.size === 0) return sortServerError(error.code, error.message);
  return gravest.find((kind) => kinds.has(kind)) ?? 'duplicate';
}

const writeErrorsOf = ({ writeErrors }: MongoBulkWriteError) =>
  Array.isArray(writeErrors) ? writeErrors : [writeErrors];

function sortServerError(code: unknown, message: string): StoreErrorKind {
  if (code === 11_000) return 'duplicate';
  if (typeof code === 'number' && awayCodes.has(code)) return 'unavailable';
  if ((typeof code === 'number' && refusedCodes.has(code)) || indexMissing.test(message)) return 'refused';
  return postgresAway.test(message) ? 'unavailable' : 'bug';
}

// Codes of a server that runs but cannot serve: it shuts down, is no longer the primary, took too long, has a full disk, ended the
// operation or its cursor, or could not make a write durable (the caller must not take such a write for done).
const awayCodes = new Set([
  6, // HostUnreachable
  7, // HostNotFound
  43, // CursorNotFound: the server ended the cursor, or another server took over
  50, // MaxTimeMSExpired
  64, // WriteConcernTimeout
  89, // NetworkTimeout
  91, // ShutdownInProgress
  100, // UnsatisfiableWriteConcern
  133, // FailedToSatisfyReadPreference
  134, // ReadConcernMajorityNotAvailableYet
  175, // QueryPlanKilled: an index or the collection changed under the query
  189, // PrimarySteppedDown
  202, // NetworkInterfaceExceededTimeLimit
  262, // ExceededTimeLimit
  9_001, // SocketException
  10_058, // LegacyNotPrimary
  10_107, // NotWritablePrimary
  11_600, // InterruptedAtShutdown
  11_601, // Interrupted: an operator ended the operation
  11_602, // InterruptedDueToReplStateChange
  13_435, // NotPrimaryNoSecondaryOk
  13_436, // NotPrimaryOrSecondary
  14_031, // OutOfDiskSpace
]);

const refusedCodes = new Set([
  13, // Unauthorized: the login lacks a permission
  18, // AuthenticationFailed: the password was changed, or the login removed
]);

/** A query names an index that an operator dropped; the next start of a replica creates the index again. */
const indexMissing =
  /hint provided does not correspond to an existing index|index specified by index hint is not found/i;

// FerretDB has no code for a PostgreSQL that does not run (1, or 4293 for a full disk), only PostgreSQL's message.
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
  // This project opens no session: the driver ended its implicit session when it closed its connections.
  MongoExpiredSessionError,
  // Thrown when an operation exceeds a `timeoutMS` in MONGODB_URL.
  MongoOperationTimeoutError,
];

const isAway = (error: unknown): boolean =>
  awayErrors.some((one) => error instanceof one) ||
  (error instanceof MongoError && poolErrors.has(error.name)) ||
  isOfNode(error);

/** The driver passes on Node's error for a socket that the server closed during a write, and for a DNS that fails. */
const isOfNode = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && nodeCodes.has(error.code);

// ENOTFOUND is missing here: the DNS knows that there is no such name.
const socketCodes = ['EPIPE', 'ECONNRESET', 'ECONNREFUSED', 'ERR_STREAM_DESTROYED'];
const nodeCodes = new Set<unknown>([...socketCodes, 'ESERVFAIL', 'ETIMEOUT', 'EREFUSED']);
