import { Failure } from '@integration-sync/contracts';
import { duplicateIndexes, sortStoreError, storeFailure } from '@integration-sync/runtime/store';
import {
  MongoBulkWriteError,
  MongoClientClosedError,
  MongoExpiredSessionError,
  MongoInvalidArgumentError,
  MongoNetworkError,
  MongoNetworkTimeoutError,
  MongoNotConnectedError,
  MongoOperationTimeoutError,
  MongoServerError,
  MongoServerSelectionError,
  MongoTopologyClosedError,
  type BulkWriteResult,
  type TopologyDescription,
  type WriteError,
} from 'mongodb';
import { describe, expect, it } from 'vitest';

const server = (code: number, message: string) => new MongoServerError({ message, code });

interface Failed {
  index: number;
  code: number;
  errmsg: string;
}

/** An unordered write of which these operations failed, and that perhaps is not durable. */
function bulk(failed: Failed[], undurable?: { code: number; errmsg: string }): MongoBulkWriteError {
  const result = { getWriteConcernError: () => undurable } as unknown as BulkWriteResult;
  const { code, errmsg } = failed[0] ?? undurable ?? { code: 0, errmsg: '' };
  const writeErrors = failed as unknown as WriteError[];
  return new MongoBulkWriteError({ message: errmsg, code, writeErrors }, result);
}

/** A write that ended as a whole, before or while it was sent: the driver wraps the reason. */
const bulkStoppedBy = (error: Error) =>
  new MongoBulkWriteError(error, { getWriteConcernError: () => undefined } as unknown as BulkWriteResult);

const duplicate = (index: number): Failed => ({ index, code: 11_000, errmsg: 'E11000 duplicate key error' });
const invalid = (index: number): Failed => ({ index, code: 121, errmsg: 'Document failed validation' });
const interrupted = (index: number): Failed => ({ index, code: 11_600, errmsg: 'interrupted at shutdown' });

function thrownBy(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  throw new Error('nothing was thrown');
}

describe('an error of the store is sorted', () => {
  it.each<[string, unknown]>([
    ['a broken connection', new MongoNetworkError('connection 1 to 127.0.0.1:1 closed')],
    ['a connection that timed out', new MongoNetworkTimeoutError('connection 1 to 127.0.0.1:1 timed out')],
    ['no server to select', new MongoServerSelectionError('connect ECONNREFUSED', {} as TopologyDescription)],
    ['a client that is closed', new MongoClientClosedError()],
    ['a client that was closed under an operation', new MongoExpiredSessionError()],
    ['an operation beyond the `timeoutMS` of the address', new MongoOperationTimeoutError('Timed out')],
    ['a client that is not connected', new MongoNotConnectedError('Client must be connected')],
    [
      'a socket that was closed meanwhile',
      Object.assign(new Error('This socket has been ended'), { code: 'EPIPE' }),
    ],
    ['a topology that is closed', new MongoTopologyClosedError()],
    ['a primary that stepped down', server(189, 'stepped down')],
    ['a node that is no primary', server(10_107, 'not primary')],
    ['a server that stops', server(91, 'shutdown in progress')],
    ['an operation that took too long', server(50, 'operation exceeded time limit')],
    ['a write that is not durable in time', server(64, 'waiting for replication timed out')],
    ['a new primary that knows no majority yet', server(134, 'majority reads are currently not possible')],
    ['a shard that a mongos does not reach', server(202, 'no connection within the time limit')],
    [
      'PostgreSQL that refuses',
      server(1, 'pool.go:90: failed to connect to `user=postgres database=postgres`'),
    ],
    ['PostgreSQL that was stopped', server(1, 'terminating connection due to administrator command')],
    ['PostgreSQL that was killed', server(1, 'terminating connection due to unexpected postmaster exit')],
    ['PostgreSQL that starts', server(1, 'the database system is starting up')],
    ['PostgreSQL that hung up', server(1, 'read tcp: connection reset by peer')],
    ['PostgreSQL that has no room', server(1, 'could not extend file "base/5/1": No space left on device')],
    [
      'PostgreSQL that has no room, by another code',
      server(4293, 'could not write to file "base/5/1": No space left on device'),
    ],
    ['PostgreSQL that became a standby', server(1, 'cannot execute INSERT in a read-only transaction')],
    ['a cursor that another primary does not know', server(43, 'cursor id 7 not found')],
    ['a query whose index was dropped under it', server(175, 'query plan killed :: index dropped')],
    ['an operation that an operator ended', server(11_601, 'operation was interrupted')],
    ['a disk that is full', server(14_031, 'available disk space is less than required')],
    ['a bulk write that lost its connection', bulkStoppedBy(new MongoNetworkError('closed'))],
    ['a bulk write that found no server', bulkStoppedBy(server(1, 'failed to connect to `user=postgres`'))],
    ['a bulk write that was interrupted in part', bulk([duplicate(0), interrupted(1)])],
    ['a bulk write that is not durable', bulk([], { code: 64, errmsg: 'timed out' })],
    [
      'a bulk write with duplicates that is not durable',
      bulk([duplicate(0)], { code: 64, errmsg: 'timed out' }),
    ],
  ])('%s: unavailable', (_name, error) => {
    expect(sortStoreError(error)).toBe('unavailable');
  });

  it.each<[string, unknown]>([
    ['a permission that was taken away', server(13, 'not authorized on sync to execute command { find: … }')],
    ['a refused password', server(18, 'Authentication failed.')],
    ['a bulk write without the permission', bulkStoppedBy(server(13, 'not authorized'))],
    [
      'a query whose index was dropped',
      server(2, 'error processing query: hint provided does not correspond to an existing index'),
    ],
    [
      'refusals among interruptions',
      bulk([interrupted(0), { index: 1, code: 13, errmsg: 'not authorized' }]),
    ],
  ])('%s: refused', (_name, error) => {
    expect(sortStoreError(error)).toBe('refused');
  });

  it.each<[string, unknown]>([
    ['one document that exists already', server(11_000, 'E11000 duplicate key error')],
    ['a document with the words of a full disk', server(11_000, 'E11000 dup key: "no space left"')],
    ['several documents that exist already', bulk([duplicate(0), duplicate(7)])],
  ])('%s: duplicate', (_name, error) => {
    expect(sortStoreError(error)).toBe('duplicate');
  });

  it.each<[string, unknown]>([
    ['an internal error that is not about a connection', server(1, 'syntax error at or near "select"')],
    ['a document that is not valid', server(121, 'Document failed validation')],
    ['duplicates among other failures', bulk([duplicate(0), invalid(1)])],
    ['other failures among interruptions', bulk([interrupted(0), invalid(1)])],
    ['a wrong argument', new MongoInvalidArgumentError('Document must be an object')],
    ['an error of this service', new TypeError('x is not a function')],
    ['a thrown string', 'E11000'],
    ['nothing', undefined],
  ])('%s: bug', (_name, error) => {
    expect(sortStoreError(error)).toBe('bug');
  });
});

describe('the failure that a caller gets', () => {
  it('names the database as away without the driver’s text, and keeps the cause', () => {
    const error = new MongoNetworkError('connection 1 to 10.0.0.1:27017 closed');
    const failure = storeFailure(error);
    expect(failure).toBeInstanceOf(Failure);
    expect(failure).toMatchObject({ code: 'unavailable', cause: error, retryAfterSeconds: 2 });
    expect(failure.detail).not.toContain('10.0.0.1');
  });

  it('names a refusal of the database, with a longer Retry-After', () => {
    const error = server(13, 'not authorized on sync to execute command { update: "suppliers" }');
    const failure = storeFailure(error);
    expect(failure).toMatchObject({ code: 'unavailable', cause: error, retryAfterSeconds: 30 });
    expect(failure.detail).toMatch(/refuses.*operator/);
    expect(failure.detail).not.toContain('suppliers');
  });

  it.each([server(11_000, 'E11000'), server(121, 'not valid'), new TypeError('oops')])(
    'is the error itself for %s',
    (error) => {
      expect(thrownBy(() => storeFailure(error))).toBe(error);
    },
  );

  it('is the thrown error itself where the error is a Failure already', () => {
    const failure = new Failure('invalid_request', 'no');
    expect(storeFailure(failure)).toBe(failure);
  });
});

describe('the duplicates of an unordered write', () => {
  it('are named by their index', () => {
    expect(duplicateIndexes(bulk([duplicate(3), duplicate(0)]))).toStrictEqual([3, 0]);
  });

  it.each<[string, unknown]>([
    ['something else failed too', bulk([duplicate(0), invalid(1)])],
    ['the connection broke', bulkStoppedBy(new MongoNetworkError('closed'))],
    ['the rest is not durable', bulk([duplicate(0)], { code: 64, errmsg: 'timed out' })],
    ['it was a single write', server(11_000, 'E11000')],
    ['it was no write at all', new TypeError('oops')],
  ])('are not named where %s, and the error is thrown again', (_name, error) => {
    expect(thrownBy(() => duplicateIndexes(error))).toBe(error);
  });
});
