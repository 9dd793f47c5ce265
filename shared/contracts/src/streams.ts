// The stream that every service may publish to or read, so that whichever of them starts first makes the same.
import { limits } from './limits.ts';
import { eventsFilter, eventsStream } from './subjects.ts';

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
