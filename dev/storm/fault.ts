// A fault: its target and its signal.

/**
 * `database` is FerretDB or mongod; `postgresql` is what lies under FerretDB. `webhooks-nats` and `webhooks-mongodb` are the
 * ways of one replica of webhooks to its engines (`way.ts`): where one stands still, that replica is partitioned.
 */
export const targets = [
  'gateway',
  'gateway-2',
  'catalog',
  'batches',
  'webhooks',
  'nats',
  'database',
  'postgresql',
  'webhooks-nats',
  'webhooks-mongodb',
] as const;
export type Target = (typeof targets)[number];

/** SIGKILL, SIGSTOP with a SIGCONT later, and the signal that asks it to end in good order. */
export const faultKinds = ['kill', 'stop', 'end'] as const;
export type FaultKind = (typeof faultKinds)[number];

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
