// A lock that one process holds at a time: a file lock of the operating system, which SQLite takes on an empty database file.
// The operating system releases the lock however its owner dies, so that no lock is ever stale.
import { mkdirSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as wait } from 'node:timers/promises';
import { Type } from 'typebox';
import { readJsonAs, writeJson } from './files.ts';
import { messageOf } from './words.ts';

/** A lock is held until it is disposed of, or until the process ends. */
export type Lock = Disposable;

/** The error if the lock file cannot be opened: no permission, no room, no such disk. */
export class LockFailure extends Error {
  override readonly name = 'LockFailure';
}

/** Takes the lock; returns undefined if another process, or another part of this process, holds it. */
export function takeLock(path: string): Lock | undefined {
  mkdirSync(dirname(path), { recursive: true });
  const database = openExclusively(path);
  if (database === undefined) return undefined;
  writeJson(ownerPath(path), { pid: process.pid });
  return {
    [Symbol.dispose]() {
      rmSync(ownerPath(path), { force: true });
      database.close();
    },
  };
}

function openExclusively(path: string): DatabaseSync | undefined {
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(path, { timeout: 0 });
    database.exec('BEGIN EXCLUSIVE');
    return database;
  } catch (error) {
    database?.close();
    if (isBusy(error)) return undefined;
    throw new LockFailure(`${path} cannot be opened: ${messageOf(error)}`, { cause: error });
  }
}

/** The pid of the last known holder. For messages only: it may be outdated. */
export const lockOwner = (path: string): number | undefined => readJsonAs(ownerPath(path), Owner)?.pid;

const Owner = Type.Object({ pid: Type.Integer() });

export interface WaitOptions {
  signal?: AbortSignal | undefined;
  onWait?: (owner: number | undefined) => void;
}

export async function waitForLock(path: string, { signal, onWait }: WaitOptions = {}): Promise<Lock> {
  for (let first = true; ; first = false) {
    const lock = takeLock(path);
    if (lock !== undefined) return lock;
    if (first) onWait?.(lockOwner(path));
    await wait(100, undefined, { signal });
  }
}

const ownerPath = (path: string): string => `${path}.owner`;

const SQLITE_BUSY = 5;

function isBusy(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && error.errcode === SQLITE_BUSY;
}
