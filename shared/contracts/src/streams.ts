// The streams that several services publish to or read. They stand here because the service that starts first makes
// them.
import { limits } from './limits.ts';
import { bundlesFilter, bundlesStream, eventsFilter, eventsStream } from './subjects.ts';

const dayMs = 24 * 60 * 60 * 1000;

/** With `discard: new`, nats-server refuses new events when the stream is full, and drops none that is unread. */
export const eventsStreamSpec = (replicas: number) => ({
  name: eventsStream,
  description: 'What happened to the records of every integration',
  subjects: [eventsFilter],
  retention: 'limits' as const,
  discard: 'new' as const,
  maxAgeMs: limits.eventsKeptDays * dayMs,
  duplicateWindowMs: 10 * 60 * 1000,
  atomicBatches: true,
  replicas,
});

/**
 * Events that webhooks has not taken yet. nats-server deletes an untaken bundle when it deletes the events themselves.
 */
export const bundlesStreamSpec = (replicas: number) => ({
  name: bundlesStream,
  description: 'The same, for webhooks: those of a push as one message, until it is taken',
  subjects: [bundlesFilter],
  retention: 'workqueue' as const,
  discard: 'new' as const,
  maxAgeMs: limits.eventsKeptDays * dayMs,
  duplicateWindowMs: 10 * 60 * 1000,
  replicas,
});
