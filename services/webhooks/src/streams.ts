// The streams that webhooks creates and reads. The contracts define EVENTS and EVENT_BATCHES, because catalog and
// batches publish to both.
import {
  eventBatchesStreamSpec,
  eventsStreamSpec,
  ofEveryStream,
  type StreamSettings,
} from '@integration-sync/contracts';
import type { StreamSpec } from '@integration-sync/runtime/bus';

const dayMs = 24 * 60 * 60 * 1000;

export const attemptsStream = 'ATTEMPTS';

export const attemptsSubject = (endpointId: string): string => `attempts.${endpointId}`;

/** The subject of the receiver's answers to failed attempts at the endpoint (delivering/answers.ts). */
export const answersSubject = (endpointId: string): string => `${attemptsSubject(endpointId)}-answers`;

export const streamSpecs = (settings: StreamSettings): StreamSpec[] => [
  eventsStreamSpec(settings),
  eventBatchesStreamSpec(settings),
  {
    ...ofEveryStream(settings),
    atomicBatches: true,
    name: attemptsStream,
    description: 'The attempt log: the last 1,000 of each endpoint',
    subjects: ['attempts.>'],
    retention: 'limits',
    discard: 'old',
    maxAgeMs: 7 * dayMs,
    messagesPerSubjectMax: 1_000,
  },
];

/** The streams that refuse messages once they are full. */
export const fillableOf = (specs: readonly StreamSpec[]): string[] =>
  specs.filter(({ discard }) => discard === 'new').map(({ name }) => name);
