// The state with which a load begins: a new state, or the saved state of an interrupted load.
import { basename, dirname, resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { Stop } from '../core/exit.ts';
import { hashOf } from '../platform/node.ts';
import { rulesFor, type LoadMap } from '../core/mapping/map.ts';
import { changed, placeOf, standardInput, type Source } from '../core/reading/source.ts';
import { isBelowHere } from '../disk/own-files.ts';
import { isRejectsOf, type History } from '../core/sending/history.ts';
import { newFile, type FileState, type LoadState } from '../core/sending/state.ts';
import { readJson, stateFile } from '../disk/state-file.ts';
import { rulesOf, type FileValues } from '../options.ts';
import { readMapFile } from './map-file.ts';

export interface StateValues extends FileValues {
  map?: string | undefined;
  state: string;
  rejects?: string | undefined;
  results?: string | undefined;
  'auto-create-dds': boolean;
}

export interface NewState {
  values: StateValues;
  sources: readonly Source[];
  url: string;
  isPlan: boolean;
  history: History;
}

export async function newState({ values, sources, url, isPlan, history }: NewState): Promise<LoadState> {
  const files: FileState[] = [];
  const results = values.results === undefined ? undefined : { path: resolve(values.results), bytes: 0 };
  for (const { input, isRejects } of sources) {
    if (input.path === results?.path)
      throw new Stop(`--results names ${values.results}, which is to be loaded: name another file.`);
    const hash = input.path === standardInput || isPlan ? '' : await hashOf(input.path);
    files.push(newFile(input, hash, isRejects || isRejectsOf(history, input)));
  }
  return {
    version: 1,
    url,
    phase: 'loading',
    startedAt: new Date().toISOString(),
    autoCreateDDS: values['auto-create-dds'],
    rejectsFolder: isPlan && values.rejects === undefined ? undefined : resolve(values.rejects ?? 'rejects'),
    files,
    results,
    deferredBytes: 0,
    rejectedIdsBytes: 0,
    marks: {},
  };
}

export async function resumedState(values: StateValues, files: readonly string[]): Promise<LoadState> {
  const state = await readJson<LoadState>(resolve(values.state), stateFile);
  if (state === undefined)
    throw new Stop(`There is no load to resume in ${values.state}: load anew, without --resume.`);
  if (state.phase === 'finished') throw new Stop('The last load has finished: load anew, without --resume.');
  if (files.some((file) => !state.files.some(({ path }) => path === resolve(file)))) {
    throw new Stop('--resume goes on with the files of the load that was interrupted, and takes no others.');
  }
  refuseOthers(state, values, await readMapFile(values.map));
  await refuseOutside(state, values);
  for (const { path, hash } of state.files) {
    if ((await hashOf(path)) !== hash) {
      throw new Stop(`${changed(path)}: load it anew, without --resume.`);
    }
  }
  return state;
}

/** Refuses options that the interrupted load did not have: they would hold for a part of the rows, or for none. */
function refuseOthers(state: LoadState, values: StateValues, map: LoadMap): void {
  const { rejects, results } = values;
  const other = [
    ...(rejects !== undefined && resolve(rejects) !== state.rejectsFolder ? ['--rejects'] : []),
    ...(results !== undefined && resolve(results) !== state.results?.path ? ['--results'] : []),
    ...(values['auto-create-dds'] && !state.autoCreateDDS ? ['--auto-create-dds'] : []),
    ...state.files.flatMap(({ path, sheet, kind, rules }) => {
      const given = { ...rulesFor(map, basename(path), sheet), ...rulesOf(values) };
      const kept = new Map(Object.entries({ ...rules, kind }));
      return Object.entries(given).flatMap(([name, rule]) =>
        isDeepStrictEqual(rule, kept.get(name)) ? [] : [name],
      );
    }),
  ].at(0);
  if (other !== undefined)
    throw new Stop(
      `The load that was interrupted had another ${other}, with which --resume goes on: leave yours out, or load anew, without --resume.`,
    );
}

/**
 * Refuses a state that names a file to write outside of the folder, unless the command names that file too. The folder may be
 * from another person.
 */
async function refuseOutside(state: LoadState, { rejects, results }: StateValues): Promise<void> {
  const named = new Set([rejects, results].flatMap((path) => (path === undefined ? [] : resolve(path))));
  const rejected = state.files.flatMap((file) => file.rejects?.path ?? []);
  for (const path of rejected) {
    if (dirname(path) !== state.rejectsFolder)
      throw new Stop(`The state of ${path} is broken: load anew, without --resume.`);
  }
  for (const [option, path] of [
    ['rejects', state.rejectsFolder],
    ['results', state.results?.path],
  ] as const) {
    if (path === undefined || named.has(path) || (await isBelowHere(path))) continue;
    throw new Stop(
      `The load to resume writes to ${path}, outside of this folder: say --${option} ${path} once more.`,
    );
  }
}

/** The message of a new load that replaces the state of an interrupted load. */
export function insteadOf(before: LoadState | undefined): string {
  if (before === undefined || before.phase === 'finished') return '';
  const left = before.files.map((file) => `${placeOf(file)} (row ${file.row})`).join(', ');
  return `This load takes the place of one that was interrupted: ${left}, begun ${before.startedAt}. --resume would have gone on with it.\n`;
}
