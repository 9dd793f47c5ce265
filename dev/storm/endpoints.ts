// The receivers of a storm: which there are, and how each behaves at a given moment. Once the storm is over, all are well.
import { eventKinds } from '@integration-sync/contracts';
import type { Random } from '../fuzz/random.ts';
import { within } from './faults.ts';
import type { Profile } from './profile.ts';

/**
 * A hostile receiver never stops talking (`hostile.ts`). A narrow one takes one delivery at a time. A recovering one is
 * gone or dead until it is disabled, and recovers (`recovering.ts`).
 */
export type Behaviour =
  'steady' | 'flaky' | 'slow' | 'dead' | 'gone' | 'hostile' | 'narrow' | 'recovering' | 'refusing';

export interface EndpointPlan {
  integration: string;
  behaviour: Behaviour;
  events: readonly string[];
  settings?: { inFlightMax?: number; recover?: boolean };
}

type Of = Pick<Profile, 'integrations' | 'receivers'>;

export function planEndpoints(of: Of): EndpointPlan[] {
  const one = { integration: of.integrations.at(-1) ?? '', events: ['sync.completed'] };
  return [
    ...usualEndpoints(of),
    { ...one, behaviour: 'narrow', settings: { inFlightMax: 1 } },
    { ...one, behaviour: 'recovering', settings: { recover: true } },
  ];
}

function usualEndpoints({ integrations, receivers }: Of): EndpointPlan[] {
  if (receivers === 'steady')
    return integrations.map((integration) => ({ integration, behaviour: 'steady', events: eventKinds }));
  if (receivers === 'many') return integrations.flatMap(dozenOf);
  return integrations.flatMap((integration, nth): EndpointPlan[] =>
    nth % 2 === 0
      ? [
          { integration, behaviour: 'steady', events: eventKinds },
          { integration, behaviour: 'dead', events: ['supplier.created', 'dds.created'] },
        ]
      : [
          { integration, behaviour: 'flaky', events: eventKinds },
          { integration, behaviour: 'slow', events: ['sync.completed'] },
          { integration, behaviour: 'hostile', events: ['supplier.created', 'batch.created'] },
        ],
  );
}

/** Endpoints of one integration, most of which keep up; 40 integrations have 500 in all. */
const dozenOf = (integration: string, nth: number): EndpointPlan[] => {
  const behaviours: Behaviour[] = ['flaky', 'flaky', 'slow', 'slow', 'dead'];
  const all = Array.from({ length: nth % 2 === 0 ? 12 : 13 }, (_, place) => behaviours[place] ?? 'steady');
  return all.map((behaviour) => ({
    integration,
    behaviour,
    events:
      behaviour === 'slow' ? ['sync.completed'] : behaviour === 'dead' ? ['supplier.created'] : eventKinds,
  }));
};

export interface Reaction {
  /** 0: the connection is broken instead. */
  status: number;
  afterMs: number;
}

/** A flaky receiver is away for the first part of each round, as one that is started again. */
const flakyRoundMs = 20_000;
const flakyAwayMs = 4_000;

export function react(behaviour: Behaviour, { nowMs, random }: { nowMs: number; random: Random }): Reaction {
  const failure: Reaction = { status: random.chance(0.3) ? 0 : 500, afterMs: 0 };
  const success: Reaction = { status: random.pick([200, 202, 204]), afterMs: 0 };
  if (behaviour === 'dead') return failure;
  if (behaviour === 'gone') return { status: 410, afterMs: 0 };
  if (behaviour === 'refusing') return { status: 500, afterMs: 0 };
  if (behaviour === 'hostile') return { status: 0, afterMs: 0 };
  if (behaviour === 'slow') return { ...success, afterMs: within(random, [200, 1_500]) };
  if (behaviour === 'narrow') return { ...success, afterMs: within(random, [80, 250]) };
  if (behaviour !== 'flaky') return success;
  return nowMs % flakyRoundMs < flakyAwayMs || random.chance(0.002) ? failure : success;
}
