// A fault: its target, and what becomes of it.

/**
 * `database` is FerretDB or mongod; `postgresql` is what lies under FerretDB. `webhooks-nats` and `webhooks-mongodb` are the
 * ways of one replica of webhooks to its engines (`way.ts`): where one stands still, that replica is partitioned.
 */
export const targets = [
  ...(['gateway', 'gateway-2', 'catalog', 'batches', 'webhooks', 'nats', 'database', 'postgresql'] as const),
  ...(['webhooks-nats', 'webhooks-mongodb'] as const),
];
export type Target = (typeof targets)[number];

/** SIGKILL, SIGSTOP with a SIGCONT later, and the signal that asks it to end in good order. */
export type FaultKind = 'kill' | 'stop' | 'end';

export interface PlannedFault {
  /** The pause after the fault before. */
  afterMs: number;
  target: Target;
  /** The index among the replicas that live at that time. */
  nth: number;
  kind: FaultKind;
  /** How long what is stopped stands still. */
  forMs: number;
}

/** Nodes by what they lead: the stream of events, the log that is delivered from, or the cluster itself; and what is rolled. */
export const clusterTargets = [
  ...([
    'events-leader',
    'deliver-leader',
    'meta-leader',
    'two-nodes',
    'all-nodes',
    'nodes',
    'services',
  ] as const),
];
export type ClusterTarget = (typeof clusterTargets)[number];

/**
 * SIGKILL, again whenever the node comes back before its time; SIGSTOP with a SIGCONT later; or each node, or each replica of
 * each service, ended in good order and started again, one after the other.
 */
export interface ClusterFault {
  target: ClusterTarget;
  kind: 'kill' | 'stop' | 'roll';
  /** How long what is struck stays away. */
  forMs: number;
}

/** Whether only one node is struck, so that the cluster goes on without it. */
export const isOfOneNode = (target: string): boolean => target.endsWith('-leader');
