// Reads settings from files: `<NAME>_FILE` may hold the path of a file with the value of a secret, or of an address that may hold a
// password. A process reads the file once, when it starts.
import { readFileSync } from 'node:fs';
import type { TObject, TSchema } from 'typebox';
import { isSet, mayStandInFile, type Environment, type Given } from './explain.ts';

const fileSettingOf = (name: string): string => `${name}_FILE`;

export function readFiles(schema: TObject, environment: Environment): Given {
  const completed = { ...environment };
  const paths = new Map<string, string>();
  const problems = new Map<string, string>();
  for (const [name, rule] of Object.entries<TSchema>(schema.properties)) {
    if (!mayStandInFile(rule)) continue;
    const path = environment[fileSettingOf(name)];
    if (!isSet(path)) continue;
    const read = isSet(environment[name]) ? both(name) : readText(name, path);
    if ('problem' in read) problems.set(name, read.problem);
    else {
      completed[name] = read.text;
      paths.set(name, path);
    }
  }
  return { environment: completed, paths, problems };
}

type Read = { text: string } | { problem: string };

const both = (name: string): Read => ({
  problem: `${name}, ${fileSettingOf(name)}: expected one of them, got both`,
});

/** Removes the newline at the end of the file, which editors and most tools add. */
function readText(name: string, path: string): Read {
  const refused = (why: string): Read => ({
    problem: `${fileSettingOf(name)}: cannot read ${JSON.stringify(path)} (${why})`,
  });
  try {
    const text = readFileSync(path, 'utf8').replace(/\r?\n$/, '');
    return text === '' ? refused('it is empty') : { text };
  } catch (error) {
    return refused(reasonOf(error));
  }
}

function reasonOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return fileReasons.get(code) ?? String(error);
}

/** Why a file cannot be read, by the error code of Node. */
export const fileReasons: ReadonlyMap<string, string> = new Map([
  ['ENOENT', 'there is no such file'],
  ['ENOTDIR', 'there is no such file'],
  ['EACCES', 'this process may not read it'],
  ['EISDIR', 'it is a folder'],
]);
