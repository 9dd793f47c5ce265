// Tries the sources of one engine in order, takes the first one that works, and says which one and why.
import { join } from 'node:path';
import { messageOf } from '../process/words.ts';
import { explainRefusals, labels, listRefusals, orderSources, type Forced, type Refusal } from './choice.ts';
import { NoEngine, NotServed, type Engine, type RunningEngine, type Source } from './engine.ts';
import { givenAddress, useGiven } from './environment.ts';
import type { Memory } from './memory.ts';
import type { RowContext, Rows } from './row.ts';

export interface Setting extends Omit<RowContext, 'dataFolder' | 'portWished'> {
  /** The folder of all engines; each engine has a folder in it. */
  folder: string;
  forced: Forced | undefined;
  /** The sources that served this user last, and those that made the data in this folder. */
  lastServed: Memory;
  madeData: Memory;
}

export async function takeFirstThatServes(rows: Rows, setting: Setting): Promise<Engine> {
  const { name, environment, forced, lastServed, madeData, cache } = setting;
  const last = lastServed.recall(name);
  const made = madeData.recall(name);
  const addressSet = givenAddress(name, environment) !== undefined;
  const order = orderSources({ forced, addressSet, remembered: [made?.source, last?.source] });
  const refusals: Refusal[] = [];
  for (const source of order) {
    try {
      const running = await startFrom(source, rows, setting);
      const remembered = last?.source === source ? last.refused : '';
      const choice = {
        source,
        refused: refusalsBefore(source, refusals, remembered),
        isTried: refusals.length > 0,
      };
      return await keepOrStop(running, () => settleOn(choice, running, setting));
    } catch (error) {
      cache.signal.throwIfAborted();
      const refusal = refusalOf(source, error);
      // A full disk would make every other source fail too.
      if (diskFull.test(refusal.why))
        throw new NoEngine(`The disk is full. Make room, then start again.\n  ${refusal.why}`);
      refusals.push(refusal);
      if (order.length > 1) cache.progress.say(`${labels[name]}: ${source} does not serve: ${refusal.why}`);
    }
  }
  throw new NoEngine(`No source of ${labels[name]} works on this machine.\n${listRefusals(refusals)}`);
}

interface Choice {
  source: Source;
  /** Why the sources before the chosen source do not serve. */
  refused: string;
  /** Whether this start has tried the sources before the chosen source; else an earlier start has. */
  isTried: boolean;
}

const diskFull = /ENOSPC|no space left/i;

/** Notes the chosen source, and prints it. */
function settleOn({ source, refused, isTried }: Choice, running: RunningEngine, setting: Setting): Engine {
  const { name, forced, lastServed, madeData, cache } = setting;
  const reason = reasonOf(source, { forced, refused, isTried, description: running.description });
  // A source is not noted if ENGINES forced it, or if it serves with a given NATS configuration, but perhaps not without one.
  const isUsual = forced === undefined && setting.natsConfig === undefined;
  if (isUsual && source !== 'environment') lastServed.note(name, { source, refused });
  if (source !== 'environment') madeData.note(name, { source, refused, ...portOf(running) });
  cache.progress.say(`${labels[name]}: ${reason}`);
  return { ...running, name, source, reason };
}

async function keepOrStop(running: RunningEngine, settle: () => Engine): Promise<Engine> {
  try {
    return settle();
  } catch (error) {
    await running[Symbol.asyncDispose]();
    throw error;
  }
}

function startFrom(source: Source, rows: Rows, setting: Setting): Promise<RunningEngine> {
  const { name, environment, folder, madeData } = setting;
  const given = givenAddress(name, environment);
  if (source === 'environment' && given !== undefined) return useGiven(name, given);
  if (source === 'environment')
    throw new TypeError(`the environment variable with the address of ${name} is not set`);
  const dataFolder = join(folder, `${name}-${source}`);
  return rows[source]({ ...setting, dataFolder, portWished: madeData.recall(name)?.port });
}

/** Why sources before this one were refused: in this start or, if it began with the source of an earlier start, in that start. */
function refusalsBefore(source: Source, refusals: readonly Refusal[], remembered: string): string {
  return refusals.length > 0
    ? explainRefusals(refusals.filter((refusal) => refusal.source !== source))
    : remembered;
}

function reasonOf(
  source: Source,
  {
    forced,
    refused,
    isTried,
    description,
  }: Omit<Choice, 'source'> & { forced: Forced | undefined; description: string },
): string {
  if (source === 'environment') return description;
  if (forced !== undefined) return `${description}, because ENGINES=${forced}`;
  if (refused === '') return description;
  return `${description} (${isTried ? '' : 'an earlier start found: '}${refused})`;
}

function portOf({ url }: RunningEngine): { port?: number } {
  const [, port] = /:(\d+)$/.exec(url) ?? [];
  return port === undefined ? {} : { port: Number(port) };
}

/** Any failure makes the next source be tried; only an expected failure (`NotServed`) says what to install or mend. */
function refusalOf(source: Source, error: unknown): Refusal {
  const message = messageOf(error);
  const why = message.replaceAll(/\s+/g, ' ').slice(0, 500);
  return { source, why, help: error instanceof NotServed ? error.help : '' };
}
