// The order in which the sources of an engine are tried. Pure: other files find out which sources there are.
//
//   ENGINES=…        that one alone, even where an address is set
//   an address set   that one alone: a person who names a database wants no other
//   else             what made this folder's data, what served last, then docker, path, download, build
import { NoEngine, sources, type EngineName, type Source } from './engine.ts';

export type Forced = Exclude<Source, 'environment'>;

export interface Circumstances {
  forced: Forced | undefined;
  addressSet: boolean;
  /** The sources that served before, the likeliest first. */
  remembered: readonly (Source | undefined)[];
}

export function orderSources({ forced, addressSet, remembered }: Circumstances): Source[] {
  if (forced !== undefined) return [forced];
  if (addressSet) return ['environment'];
  const ours = sources.filter((source) => source !== 'environment');
  const first = remembered.filter((source) => source !== undefined && source !== 'environment');
  return [...new Set([...first, ...ours])];
}

/** Why a source cannot serve. */
export interface Refusal {
  source: Source;
  why: string;
  /** What to install or mend. Empty where nothing would help. */
  help: string;
}

export const explainRefusals = (refusals: readonly Refusal[]): string =>
  refusals.map(({ source, why }) => `${source}: ${why}`).join('; ');

/** A list of the refused sources for the person at the terminal, with what to install or mend. */
export const listRefusals = (refusals: readonly Refusal[]): string =>
  refusals
    .map(({ source, why, help }) => `  ${source}: ${why}${help === '' ? '' : `\n      → ${help}`}`)
    .join('\n');

/** The value of ENGINES; undefined if it is not set. */
export function parseForced(text: string | undefined): Forced | undefined {
  if (text === undefined || text === '') return undefined;
  const forced = forcible.find((source) => source === text);
  if (forced === undefined)
    throw new NoEngine(`ENGINES: expected one of ${forcible.join(', ')}, got "${text}"`);
  return forced;
}

const forcible = ['docker', 'path', 'download', 'build'] as const satisfies readonly Forced[];

export const labels: Record<EngineName, string> = { mongodb: 'MongoDB', nats: 'NATS' };
