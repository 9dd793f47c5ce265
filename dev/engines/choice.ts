// Which source is tried when. Pure: other files find out what there is to try.
//
//   ENGINES=…        that one alone, even where an address is set
//   an address set   that one alone: a person who names a database wants no other
//   else             what made this folder's data, what served last, then docker, path, download, build
import { NoEngine, sources, type EngineName, type Source } from './engine.ts';

export type Forced = Exclude<Source, 'environment'>;

export interface Circumstances {
  forced: Forced | undefined;
  addressSet: boolean;
  /** The likeliest first. */
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

/** For the person who has to act on it. */
export const listRefusals = (refusals: readonly Refusal[]): string =>
  refusals
    .map(({ source, why, help }) => `  ${source}: ${why}${help === '' ? '' : `\n      → ${help}`}`)
    .join('\n');

/** Undefined when nothing is forced. */
export function parseForced(text: string | undefined): Forced | undefined {
  if (text === undefined || text === '') return undefined;
  const forced = forcible.find((source) => source === text);
  if (forced === undefined)
    throw new NoEngine(`ENGINES: expected one of ${forcible.join(', ')}, got "${text}"`);
  return forced;
}

const forcible = ['docker', 'path', 'download', 'build'] as const satisfies readonly Forced[];

export const labels: Record<EngineName, string> = { mongodb: 'MongoDB', nats: 'NATS' };
