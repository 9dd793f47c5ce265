// load --sample: prints a map from the headers of the files, which a user can edit and give to --map.
import { basename } from 'node:path';
import type { Context } from '../command.ts';
import { exitCodes, type ExitCode } from '../core/exit.ts';
import { fieldsOf, kinds } from '../core/kinds.ts';
import { nearest, plainName } from '../core/mapping/nearest.ts';
import type { Input } from '../core/reading/source.ts';
import { headerOf } from '../core/reading/header.ts';

export async function printSample(inputs: readonly Input[], { streams }: Context): Promise<ExitCode> {
  const map: Record<string, object> = {};
  for (const input of inputs) {
    const { path, sheet, kind } = input;
    const name = sheet === undefined ? basename(path) : `${basename(path)}#${sheet}`;
    const fields = Object.keys(fieldsOf[kind]);
    const columns = Object.fromEntries(
      (await headerOf(input))
        .filter((column) => column !== '')
        .map((column) => {
          const same = fields.find((field) => plainName(field) === plainName(column));
          return [column, same ?? nearest(column, fields, 1)[0] ?? null];
        }),
    );
    map[name] = { kind, columns, constants: {}, emptyClears: false };
  }
  for (const kind of kinds.filter((one) => inputs.some((input) => input.kind === one))) {
    const names = Object.entries(fieldsOf[kind]).map(
      ([field, { needed }]) => field + (needed === true ? ' (needed)' : ''),
    );
    streams.err(`The fields of ${kind}: ${names.join(', ')}.\n`);
  }
  await streams.out(`${JSON.stringify(map, undefined, 2)}\n`);
  return exitCodes.all;
}
