// Which fault comes next, drawn from the seed. Pure; the strike finds its process later.
import type { Random } from '../fuzz/random.ts';
import type { FaultKind, PlannedFault, Target } from './fault.ts';
import type { Profile, Span } from './profile.ts';

type Drawn<T> = readonly [T, ...T[]];

/** One that is here more often is drawn more often, because production has many replicas and few engines. */
const usual: Drawn<Target> = [
  ...(['catalog', 'catalog', 'catalog', 'catalog', 'catalog', 'batches', 'batches', 'batches'] as const),
  ...(['webhooks', 'webhooks', 'webhooks', 'gateway', 'gateway', 'gateway-2', 'gateway-2'] as const),
  ...(['nats', 'database', 'postgresql'] as const),
];
const ofOwners: Drawn<Target> = [
  ...(['webhooks', 'webhooks', 'webhooks', 'webhooks'] as const),
  ...(['webhooks-nats', 'webhooks-nats', 'webhooks-mongodb', 'webhooks-mongodb'] as const),
];
const kindsDrawn: Drawn<FaultKind> = ['kill', 'kill', 'stop', 'stop', 'end'];

export function* planFaults(random: Random, profile: Profile): Generator<PlannedFault> {
  if (profile.script !== undefined) return yield* profile.script;
  for (;;) {
    const kind = random.pick(kindsDrawn);
    yield {
      afterMs: within(random, profile.faultEveryMs),
      target: random.pick(profile.owners === undefined ? usual : ofOwners),
      nth: random.integer(2),
      kind,
      forMs: kind === 'stop' ? within(random, profile.stopMs) : 0,
    };
  }
}

export const within = (random: Random, [least, most]: Span): number =>
  least + random.integer(most - least + 1);
