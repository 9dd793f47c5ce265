// The streams that several services publish to or read, so that whichever of them starts first makes the same.
import { limits } from './limits.ts';
import { bundlesFilter, bundlesStream, eventsFilter, eventsStream } from './subjects.ts';

const dayMs = 24 * 60 * 60 * 1000;

/** `discard: new` refuses a publisher rather than dropping what nobody has read yet. */
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

/** Events that webhooks has not taken yet. What nobody takes goes when the events themselves do. */
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
