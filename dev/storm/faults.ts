// Which fault comes next, drawn from the seed. Pure; the strike finds its process later.
import type { Random } from '../fuzz/random.ts';
import type { FaultKind, PlannedFault, Target } from './fault.ts';
import type { Profile, Span } from './profile.ts';

const several = (target: Target, count: number): [Target, ...Target[]] => [
  target,
  ...Array.from({ length: count - 1 }, () => target),
];

/**
 * Targets; one that stands here more often is drawn more often, because production has many replicas and few engines.
 */
const usual: readonly [Target, ...Target[]] = [
  ...several('catalog', 5),
  ...several('batches', 3),
  ...several('webhooks', 3),
  ...several('gateway', 2),
  ...several('gateway-2', 2),
  'nats',
  'database',
  'postgresql',
];

/** The targets of the profile `owners`. */
const owners: readonly [Target, ...Target[]] = [
  ...several('webhooks', 4),
  ...several('webhooks-nats', 2),
  ...several('webhooks-mongodb', 2),
];

const kindsDrawn: readonly [FaultKind, ...FaultKind[]] = ['kill', 'kill', 'stop', 'stop', 'end'];

export function* planFaults(random: Random, profile: Profile): Generator<PlannedFault> {
  if (profile.script !== undefined) {
    yield* profile.script;
    return;
  }
  for (;;) {
    const kind = random.pick(kindsDrawn);
    yield {
      afterMs: within(random, profile.faultEveryMs),
      target: random.pick(profile.owners === undefined ? usual : owners),
      nth: random.integer(2),
      kind,
      forMs: kind === 'stop' ? within(random, profile.stopMs) : 0,
    };
  }
}

export const within = (random: Random, [least, most]: Span): number =>
  least + random.integer(most - least + 1);
