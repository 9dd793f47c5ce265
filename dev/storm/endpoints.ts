// The receivers of a storm, and how each behaves at a given moment. Once the storm is over, all accept deliveries.
import { eventKinds } from '@integration-sync/contracts';
import type { Random } from '../fuzz/random.ts';
import { within, type Span } from './fault.ts';
import type { Profile } from './profile.ts';

/**
 * A hostile receiver never stops talking (`hostile.ts`). A narrow one takes one delivery at a time. A recovering one is
 * gone or dead until it is disabled, and recovers (`recovering.ts`).
 */
// oxfmt-ignore
export type Behaviour =
  'steady' | 'flaky' | 'slow' | 'dead' | 'gone' | 'hostile' | 'narrow' | 'recovering' | 'refusing';

export interface EndpointPlan {
  integration: string;
  behaviour: Behaviour;
  events: readonly string[];
  settings?: { inFlightMax?: number; recover?: boolean };
}

/** By the behaviour of a receiver: the kinds of events of its endpoint, unless it gets all, and further settings. */
const wishes: Partial<Record<Behaviour, Pick<EndpointPlan, 'events' | 'settings'>>> = {
  slow: { events: ['sync.completed'] },
  dead: { events: ['supplier.created', 'dds.created'] },
  hostile: { events: ['supplier.created', 'batch.created'] },
  narrow: { events: ['sync.completed'], settings: { inFlightMax: 1 } },
  recovering: { events: ['sync.completed'], settings: { recover: true } },
};

type Of = Pick<Profile, 'integrations' | 'receivers'>;

export function planEndpoints({ integrations, receivers }: Of): EndpointPlan[] {
  const last = integrations.at(-1) ?? '';
  const all: [string, Behaviour][] = [
    ...integrations.flatMap((integration, nth) =>
      behavioursOf[receivers](nth).map((behaviour): [string, Behaviour] => [integration, behaviour]),
    ),
    [last, 'narrow'],
    [last, 'recovering'],
  ];
  return all.map(([integration, behaviour]) =>
    Object.assign({ integration, behaviour, events: eventKinds }, wishes[behaviour]),
  );
}

/** The receivers of the nth integration. `many`: a dozen, most of them `steady`; 40 integrations have 500 in all. */
const behavioursOf: Record<Profile['receivers'], (nth: number) => Behaviour[]> = {
  steady: () => ['steady'],
  mixed: (nth) => (nth % 2 === 0 ? ['steady', 'dead'] : ['flaky', 'slow', 'hostile']),
  many(nth) {
    const slower: Behaviour[] = ['flaky', 'flaky', 'slow', 'slow', 'dead'];
    return Array.from({ length: 12 + (nth % 2) }, (_, place) => slower[place] ?? 'steady');
  },
};

export interface Reaction {
  /** The HTTP status; 0 if the receiver breaks the connection without an answer. */
  status: number;
  afterMs: number;
}

/** The length of a round: a flaky receiver is away for the first part of each round, as if it was restarted. */
const flakyRoundMs = 20_000;
const flakyAwayMs = 4_000;

export function react(behaviour: Behaviour, { nowMs, random }: { nowMs: number; random: Random }): Reaction {
  const failure = random.chance(0.3) ? 0 : 500;
  const isAway = nowMs % flakyRoundMs < flakyAwayMs || random.chance(0.002);
  const success = random.pick([200, 202, 204]);
  const statuses: Partial<Record<Behaviour, number>> = {
    dead: failure,
    gone: 410,
    refusing: 500,
    hostile: 0,
    flaky: isAway ? failure : success,
  };
  const delay = delaysMs[behaviour];
  return {
    status: statuses[behaviour] ?? success,
    afterMs: delay === undefined ? 0 : within(random, delay),
  };
}

const delaysMs: Partial<Record<Behaviour, Span>> = { slow: [200, 1_500], narrow: [80, 250] };
