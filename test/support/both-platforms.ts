// One file, read by the command and by a page: both find the same rows, items, messages and rejects, to the byte.
import { readFile } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { expect } from 'vitest';
import { parseMap } from '../../loader/src/core/mapping/map.ts';
import { openSource, resolveInputs } from '../../loader/src/core/reading/inputs.ts';
import type { Source } from '../../loader/src/core/reading/source.ts';
import { platform as browser } from '../../loader/src/platform/browser.ts';
import { platform as command } from '../../loader/src/platform/node.ts';
import { pageCore } from './page-core.ts';

interface Found {
  said: unknown;
  rows: string[];
  rejects: string;
}

/** A message with the names of advices in place of their words, which a command and a page have for themselves. */
const unadvised = (message: string): string =>
  [command, browser]
    .flatMap(({ advice }) => Object.entries(advice))
    .filter(([, words]) => words !== '')
    .reduce((text, [name, words]) => text.replace(words, `<${name}>`), message);

/** A message of the command with the advice of a page. */
export const advisedInPage = (message: string): string =>
  Object.entries(browser.advice).reduce(
    (text, [name, words]) => text.replace(`<${name}>`, words),
    unadvised(message),
  );

async function foundIn(opening: Promise<Source>, path: string): Promise<Found | string> {
  const plain = (text: string): string => text.replaceAll(`${dirname(path)}/`, '');
  try {
    const source = await opening;
    const rows = (await Array.fromAsync(source.rows())).flat();
    const lines = rows.map((row) => source.rejects.line(row, 'no'));
    return {
      said: [source.input.kind, source.total, source.rowsBefore, source.isRejects, source.notes.map(plain)],
      rows: rows.map(({ number, made }) => JSON.stringify([number, made])),
      rejects: Buffer.concat([source.rejects.head, ...lines]).toString('hex') + source.rejects.extension,
    };
  } catch (error) {
    // Each names the path as it has it, and what a person does next; both say in the same words what they refuse.
    return unadvised(plain(error instanceof Error ? error.message : String(error)));
  }
}

/** The source of a page. */
export async function openInPage(path: string, rules: object = {}): Promise<Source> {
  const page = await pageCore();
  const name = basename(path);
  page.useFiles(new Map([[name, new Blob([await readFile(path)])]]));
  const map = page.parseMap({ '*': rules }, 'map.json');
  const [input] = await page.resolveInputs({ files: [name], map, rules: {} });
  if (input === undefined) throw new Error('there is no input');
  return page.openSource(input);
}

/** The source of the command, once a page was seen to find the same. */
export async function openOnBoth(path: string, rules: object = {}): Promise<Source> {
  const open = async (): Promise<Source> => {
    const [input] = await resolveInputs({
      files: [path],
      map: parseMap({ '*': rules }, 'map.json'),
      rules: {},
    });
    if (input === undefined) throw new Error('there is no input');
    return openSource(input);
  };
  expect(await foundIn(openInPage(path, rules), path)).toEqual(await foundIn(open(), path));
  return open();
}
