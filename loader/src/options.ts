// The arguments of the commands.
import { messageOf, Stop } from './core/exit.ts';
import { isKind, kinds } from './core/kinds.ts';
import { dateFormat } from './core/mapping/dates.ts';
import type { Rules } from './core/mapping/map.ts';

/** The most pushes in flight: a service that answers within a second is busy with 64. */
const lanesMax = 64;

export const connectionOptions = {
  url: { type: 'string' },
  'key-file': { type: 'string' },
  patience: { type: 'string', default: '300' },
  help: { type: 'boolean', short: 'h', default: false },
  json: { type: 'boolean', default: false },
} as const;

export const fileOptions = {
  map: { type: 'string' },
  kind: { type: 'string' },
  encoding: { type: 'string' },
  delimiter: { type: 'string' },
  decimal: { type: 'string' },
  dates: { type: 'string' },
  'no-quotes': { type: 'boolean', default: false },
  rejects: { type: 'string' },
  lanes: { type: 'string', default: `${lanesMax}` },
  'auto-create-dds': { type: 'boolean', default: false },
} as const;

/** Reads arguments. An invalid argument stops the command with a message and its usage. */
export function explained<Parsed>(read: () => Parsed, usage: string): Parsed {
  try {
    return read();
  } catch (error) {
    // After its first sentence, Node's message about an unknown option is about a file whose name begins with `-`.
    const said = messageOf(error).replace(/ To specify a positional .*/s, '');
    throw new Stop(`${said}\n\n${usage}`);
  }
}

export interface FileValues {
  kind?: string | undefined;
  encoding?: string | undefined;
  delimiter?: string | undefined;
  decimal?: string | undefined;
  dates?: string | undefined;
  'no-quotes': boolean;
}

export function rulesOf(values: FileValues): Rules {
  const { kind, encoding, decimal, dates } = values;
  const rules: Rules = {};
  if (kind !== undefined) {
    if (!isKind(kind)) throw new Stop(`--kind is one of ${kinds.join(', ')}, and not "${kind}".`);
    rules.kind = kind;
  }
  if (encoding !== undefined) rules.encoding = encoding;
  if (values.delimiter !== undefined) {
    const delimiter = values.delimiter.replace(/^(?:tab|\\t)$/, '\t');
    if (delimiter.length !== 1) throw new Stop('--delimiter is one character, or tab.');
    rules.delimiter = delimiter;
  }
  if (decimal !== undefined) {
    if (decimal !== ',' && decimal !== '.') throw new Stop('--decimal is , or .');
    rules.decimal = decimal;
  }
  if (dates !== undefined) {
    if (dateFormat(dates) === undefined)
      throw new Stop(`--dates is a format such as DD.MM.YYYY, MM/DD/YY or DD-MMM-YYYY, and not "${dates}".`);
    rules.dates = dates;
  }
  if (values['no-quotes']) rules.quotes = false;
  return rules;
}

const hoursIn: Readonly<Record<string, number>> = { h: 1, d: 24 };
/** The most hours that the service accepts: 31 days. */
const hoursMax = 744;

/** The number of hours of a duration such as 26h or 7d. */
export function hoursOf(name: string, text: string): number {
  const [, count, unit] = /^(\d{1,4})([hd])$/.exec(text) ?? [];
  const hours = Number(count) * (hoursIn[unit ?? ''] ?? Number.NaN);
  if (hours >= 1 && hours <= hoursMax) return hours;
  throw new Stop(`--${name} is a time from 1h to 31d, such as 26h, and not "${text}".`);
}

export function countOf(name: string, text: string, least: number, most: number): number {
  const number = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (number >= least && number <= most) return number;
  throw new Stop(`--${name} is a number from ${least} to ${most}, and not "${text}".`);
}

export const lanesOf = (text: string): number => countOf('lanes', text, 1, lanesMax);
