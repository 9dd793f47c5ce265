// A place in the log, and what is undelivered from there on.

/** An event in the log: of the batch with this sequence the one with this index. */
export interface LogPoint {
  sequence: number;
  index: number;
}

export interface OpenEvent extends LogPoint {
  /** How many of its attempts it has used up. */
  attempts: number;
  /** Epoch milliseconds. */
  dueAtMs: number;
  /** How long the receiver has asked to wait, where it has. */
  retryAfterMs?: number;
  /** The replica at which it is in flight, where another has become the owner meanwhile. */
  heldBy?: string;
}

/** Everything from the point on, and the open events, is undelivered. */
export interface Offset extends LogPoint {
  open: readonly OpenEvent[];
}
