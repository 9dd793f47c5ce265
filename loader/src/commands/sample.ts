// load --sample: prints a map from the headers of the files, which a user can edit and give to --map.
import { basename } from 'node:path';
import type { Context } from '../command.ts';
import { exitCodes, Stop, type ExitCode } from '../core/exit.ts';
import { fieldsOf, kinds, neededOf, wordsOf } from '../core/kinds.ts';
import { fieldsOfHeader } from '../core/mapping/columns.ts';
import { nearest } from '../core/mapping/nearest.ts';
import { suggestedFields } from '../core/mapping/suggestions.ts';
import { lookAtTable } from '../core/reading/inputs.ts';
import { standardInput, type Input } from '../core/reading/source.ts';

export async function printSample(inputs: readonly Input[], { streams }: Context): Promise<ExitCode> {
  const map: Record<string, object> = {};
  for (const input of inputs) {
    const { path, sheet, kind } = input;
    if (path === standardInput) throw new Stop('--sample takes files, and not standard input.');
    const name = sheet === undefined ? basename(path) : `${basename(path)}#${sheet}`;
    const { columns, guesses } = await columnsOf(input);
    map[name] = { kind, columns, constants: {}, emptyClears: false };
    if (guesses.length > 0) streams.err(`${name}: suggested, check it: ${guesses.join(', ')}.\n`);
  }
  for (const kind of kinds.filter((one) => inputs.some((input) => input.kind === one))) {
    const lines = Object.entries(wordsOf[kind]).map(
      ([field, words]) => `  ${field}: ${words}${neededOf(kind).includes(field) ? ' (needed)' : ''}\n`,
    );
    streams.err(`The fields of ${kind}:\n${lines.join('')}`);
  }
  await streams.out(`${JSON.stringify(map, undefined, 2)}\n`);
  return exitCodes.all;
}

/** Each column of a file with its field, which the name of the column says or suggests. */
async function columnsOf(input: Input) {
  const { kind } = input;
  const { look } = await lookAtTable(input);
  const known = fieldsOfHeader(look.header, { kind });
  const suggested = suggestedFields(look.header, look.sample, kind);
  const left = new Set(Object.keys(fieldsOf[kind]).filter((one) => ![...known, ...suggested].includes(one)));
  const columns: Record<string, string | null> = {};
  const guesses: string[] = [];
  for (const [at, column] of look.header.entries()) {
    if (column === '') continue;
    const field = known[at] ?? suggested[at] ?? similar(column, left);
    columns[column] = field ?? null;
    if (field === undefined || field === known[at]) continue;
    left.delete(field);
    guesses.push(`"${column}" is ${field}`);
  }
  return { columns, guesses };
}

/**
 * The field whose name is most similar to that of a column. Undefined for a name that ends with a digit, because NAME2, for
 * example, is a second column beside NAME.
 */
const similar = (column: string, left: ReadonlySet<string>): string | undefined =>
  /\d$/.test(column) ? undefined : nearest(column, [...left], 1)[0];
