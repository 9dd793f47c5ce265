// What fast-check draws of a world of pushes: which call begins, which operation runs, what else happens next.
//
//   INTERLEAVINGS=1000 npx vitest run <file>   more interleavings
//   SEED=7 TRACE=1 …                           those of a seed, with all that happened
import { type Arbitrary, array, assert, asyncProperty, constant, nat, oneof, tuple } from 'fast-check';
import { expect, vi } from 'vitest';
import { faked } from '../faked.ts';
import type { Asked, Pushes } from './pushes.ts';

export const numRuns = Number(process.env['INTERLEAVINGS'] ?? 20);
const seed = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const isTraced = process.env['TRACE'] !== undefined;
/** In the future by every clock, so that the TTL index of the journal removes no entry. */
const began = new Date('2100-01-02T00:00:00Z');

export const callers = ['A', 'B'] as const;
const replicas = [...callers, 'sweeper'] as const;
const clients = [...replicas, 'mirror 1', 'mirror 2'] as const;

export type What =
  | 'an operation runs'
  | 'a replica runs on'
  | 'a call begins'
  | 'an answer is lost'
  | 'a replica is killed'
  | 'a replica takes over'
  | 'time passes'
  | 'a mirror polls'
  | 'a caller hangs up';
export type Step = readonly [what: What, which: number];

export interface Choices {
  calls: readonly Asked[];
  steps: readonly Step[];
}

export const runs = (...which: number[]): Step[] => which.map((one) => ['an operation runs', one]);
/** A replica runs up to so many operations while all others wait. */
export const runsOn = (name: (typeof clients)[number], count: number): Step => [
  'a replica runs on',
  count * clients.length + clients.indexOf(name),
];
export const takesOver: Step = ['a replica takes over', 0];
export const begins: Step = ['a call begins', 0];

/** Steps that happen as often as their weights say. */
export function stepsOf(
  weights: Partial<Record<What, number>>,
  bounds: { minLength: number; maxLength: number },
): Arbitrary<Step[]> {
  const names = Object.keys(weights) as What[];
  const what = oneof(...names.map((name) => ({ weight: weights[name] ?? 0, arbitrary: constant(name) })));
  return array(tuple(what, nat(99)), { ...bounds, size: 'max' });
}

async function runOn(world: Pushes, name: string | undefined, count: number): Promise<void> {
  for (let nth = 0; nth < count; nth += 1) {
    const next = world.gates.waiting.find(({ client }) => client.name === name);
    if (next === undefined) return;
    await world.run(next);
  }
}

async function happen(world: Pushes, [what, which]: Step): Promise<void> {
  const { waiting } = world.gates;
  const operation = waiting[which % Math.max(waiting.length, 1)];
  if (what === 'an operation runs') return operation && world.run(operation);
  // A lost answer would only end the walk of a mirror.
  if (what === 'an answer is lost')
    return operation?.client.name.startsWith('mirror') === false ? world.run(operation, true) : undefined;
  if (what === 'a replica runs on')
    return runOn(world, clients[which % clients.length], Math.floor(which / clients.length));
  if (what === 'a replica takes over') return world.takeOver();
  if (what === 'a replica is killed') return world.kill(replicas[which % replicas.length] ?? '');
  if (what === 'a mirror polls') return world.poll(which);
  if (what === 'a caller hangs up') return world.hangUp(which);
  return world.pass();
}

/** The promise that was broken, if any, as an error of `check`. With TRACE, the history follows. */
export async function play(
  openWorld: () => Promise<Pushes>,
  { calls, steps }: Choices,
  check: (world: Pushes) => Promise<void>,
): Promise<string[]> {
  vi.useFakeTimers({ now: began, ...faked });
  using _random = vi.spyOn(Math, 'random').mockReturnValue(0.5);
  await using world = await openWorld();
  try {
    const open = [...calls];
    const begin = async (): Promise<void> => {
      const next = open.shift();
      if (next !== undefined) await world.begin(next);
    };
    await begin();
    for (const step of steps) await (step[0] === 'a call begins' ? begin() : happen(world, step));
    while (open.length > 0) await begin();
    expect(await world.settle()).toBe(true);
    await check(world);
    return [];
  } catch (error) {
    return [String(error), ...(isTraced ? world.history : [])];
  } finally {
    vi.useRealTimers();
  }
}

/** Draws choices, and expects that no promise is broken. */
export const expectAlways = (
  choices: Arbitrary<Choices>,
  playDrawn: (drawn: Choices) => Promise<string[]>,
): Promise<void> =>
  assert(
    asyncProperty(choices, async (drawn) => {
      const broken = await playDrawn(drawn);
      if (broken.length > 0 && isTraced) broken.push(JSON.stringify(drawn));
      expect(broken).toEqual([]);
    }),
    { numRuns, seed, endOnFailure: process.env['SHRINK'] === undefined },
  );
