// Draws the faults of a storm from the seed: the target of each fault, and its kind. Pure: strike.ts finds the process later.
import type { Random } from '../fuzz/random.ts';
import type { Replicas } from '../stack/services.ts';

/**
 * How often each process is drawn, first in a usual storm, then with `--profile owners`, which strikes the replicas of webhooks
 * that own partitions. Replicas are drawn more often than engines: they also fail more often in production.
 * `database` is FerretDB or mongod; `postgresql` is the database under FerretDB. `webhooks-nats` and the like are the proxies
 * between one replica and its engines (`way.ts`): if a proxy is frozen, that replica is partitioned.
 */
const draws = [
  ['catalog', 5, 0],
  ['batches', 3, 0],
  ['webhooks', 3, 4],
  ['gateway', 2, 0],
  ['gateway-2', 2, 0],
  ['nats', 1, 0],
  ['database', 1, 0],
  ['postgresql', 1, 0],
  ['catalog-nats', 1, 0],
  ['catalog-mongodb', 2, 0],
  ['batches-nats', 1, 0],
  ['batches-mongodb', 1, 0],
  ['webhooks-nats', 1, 2],
  ['webhooks-mongodb', 1, 2],
] as const;
export type Target = (typeof draws)[number][0];
export const targets: readonly Target[] = draws.map(([target]) => target);

/** SIGKILL, SIGSTOP with a SIGCONT later, and the signal that asks a process to end in good order. */
const kinds = ['kill', 'kill', 'stop', 'stop', 'end'] as const;
export type FaultKind = (typeof kinds)[number];

export interface PlannedFault {
  /** The pause between the previous fault and this fault. */
  afterMs: number;
  target: Target;
  /** The index among the replicas that live at that time. */
  nth: number;
  kind: FaultKind;
  /** How long a stopped process stays frozen, or a proxy that is ended loses answers. */
  forMs: number;
}

/** How long a proxy loses answers before it ends. */
export const answersLostMs = 3_000;

export type Span = readonly [least: number, most: number];

export const within = (random: Random, [least, most]: Span): number =>
  least + random.integer(most - least + 1);

export interface FaultRules {
  /** The pause between one fault and the next. */
  faultEveryMs: Span;
  stopMs: Span;
  /** The faults in a fixed order, in place of drawn ones. */
  script?: readonly PlannedFault[];
  /** The faults of a cluster of three nats-servers with a proxy before the gateways, repeated for ever. */
  cluster?: readonly ClusterFault[];
  /** Replicas with proxies of their own before the engines. */
  behindWays: Replicas;
  /** Whether faults strike only webhooks, which own partitions. */
  isOfOwners?: true;
}

export function* planFaults(random: Random, rules: FaultRules): Generator<PlannedFault> {
  if (rules.script !== undefined) return yield* rules.script;
  const drawn = draws.flatMap(([target, usual, ofOwners]) =>
    Array.from({ length: rules.isOfOwners === true ? ofOwners : usual }, () => target),
  );
  for (;;) {
    const kind = random.pick(kinds);
    const afterMs = within(random, rules.faultEveryMs);
    const target = drawn[random.integer(drawn.length)] ?? 'webhooks';
    const nth = random.integer(2);
    const endsMs = kind === 'end' && /-(?:nats|mongodb)$/.test(target) ? answersLostMs : 0;
    yield { afterMs, target, nth, kind, forMs: kind === 'stop' ? within(random, rules.stopMs) : endsMs };
  }
}

/** The leader of EVENTS, of EVENT_BATCHES or of the meta group; several nodes; or a target of an operator. */
export type ClusterTarget = `${'events' | 'deliver' | 'meta'}-leader` | `${'two' | 'all'}-nodes` | OfOperator;
type OfOperator = 'nodes' | 'services' | 'copies';

/**
 * SIGKILL, again whenever the node comes back before its time; SIGSTOP with a SIGCONT later; or each node, or each replica of
 * each service, ended in good order and started again, one after the other. With the target `copies`, streams lose two copies.
 */
export interface ClusterFault {
  target: ClusterTarget;
  kind: 'kill' | 'stop' | 'roll';
  /** How long struck nodes stay away. */
  forMs: number;
}

export const isOfCluster = ({ target }: { target: Target | ClusterTarget }): boolean =>
  !targets.some((one) => one === target);

/** Whether only one node is struck, so that the cluster goes on without it. */
export const isOfOneNode = ({ target }: { target: string }): boolean => target.endsWith('-leader');
