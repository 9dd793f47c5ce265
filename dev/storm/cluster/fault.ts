// What goes wrong with a cluster of nats-servers, and what an operator does to a system that runs.

/** Nodes by what they lead: the stream of events, the log that is delivered from, or the cluster itself. */
export const clusterTargets = [
  'events-leader',
  'deliver-leader',
  'meta-leader',
  'two-nodes',
  'all-nodes',
  'nodes',
  'services',
] as const;
export type ClusterTarget = (typeof clusterTargets)[number];

/**
 * SIGKILL, again whenever the node comes back before its time; SIGSTOP with a SIGCONT later; or each node, or each replica of
 * each service, ended in good order and started again, one after the other.
 */
export type ClusterFaultKind = 'kill' | 'stop' | 'roll';

export interface ClusterFault {
  target: ClusterTarget;
  kind: ClusterFaultKind;
  /** How long what is struck stays away. */
  forMs: number;
}

/** Whether only one node is struck, so that the cluster goes on without it. */
export const isOfOneNode = (target: string): boolean => target.endsWith('-leader');
