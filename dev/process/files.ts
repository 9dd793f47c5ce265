// Small files that other processes read while this process writes them: a reader finds a whole file or none, never half a file.
import { randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Static, TSchema } from 'typebox';
import { Check } from 'typebox/value';

export function writeWhole(path: string, text: string, mode = 0o644): void {
  mkdirSync(dirname(path), { recursive: true });
  const draft = `${path}.${randomUUID()}`;
  try {
    writeFileSync(draft, text, { mode, flush: true });
    renameSync(draft, path);
  } finally {
    rmSync(draft, { force: true });
  }
}

export function writeJson(path: string, value: unknown, mode?: number): void {
  writeWhole(path, `${JSON.stringify(value, null, 2)}\n`, mode);
}

/** Reads a JSON file. Undefined if the file is missing or is not JSON. */
export function readJson(path: string): unknown {
  const text = readText(path);
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Like `readJson`, but also undefined if the value does not match the schema. */
export function readJsonAs<T extends TSchema>(path: string, form: T): Static<T> | undefined {
  const value = readJson(path);
  return Check(form, value) ? value : undefined;
}

export function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    // Reading below /proc gives ESRCH while the process is just ending.
    if (error instanceof Error && 'code' in error && ['ENOENT', 'ESRCH'].includes(String(error.code)))
      return undefined;
    throw error;
  }
}
