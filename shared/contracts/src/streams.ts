// The streams that several services publish to or read. The first service that starts creates them, if it may.
import { limits } from './limits.ts';
import { partitionTransform, storedBatchesRepublished } from './partitions.ts';
import { eventBatchesFilter, eventBatchesStream, eventsFilter, eventsStream } from './subjects.ts';

/** The settings of a process about streams. A setting that is left out changes nothing of an existing stream. */
export interface StreamSettings {
  STREAM_REPLICAS?: number;
  STREAMS_MAY_SHRINK?: boolean;
  EVENTS_KEEP_DAYS?: number;
  /** The size limit of EVENTS; 0 is no limit. */
  EVENTS_MAX_BYTES?: number;
}

/** The setting that a number of a stream comes from, and whether it is set. */
const fromSetting = <Name extends string>(
  name: Name,
  settings: Readonly<Partial<Record<Name, unknown>>>,
) => ({ name, isSet: settings[name] !== undefined });

/** What every stream takes from the settings. */
export const ofEveryStream = (settings: StreamSettings) => ({
  replicas: settings.STREAM_REPLICAS ?? 1,
  mayShrink: settings.STREAMS_MAY_SHRINK ?? false,
  settings: { replicas: fromSetting('STREAM_REPLICAS', settings) },
});

const dayMs = 24 * 60 * 60 * 1000;

/** For EVENTS and EVENT_BATCHES. `discard: new`: a full stream refuses messages and drops no unread event. */
function ofEvents(settings: StreamSettings) {
  const every = ofEveryStream(settings);
  return {
    ...every,
    discard: 'new' as const,
    // With several copies, nats-server 2.15 truncates a stream at each start to the snapshot of its Raft log, and takes a compressed
    // block for an uncompressed one: "error reading compression reader".
    ...(every.replicas === 1 ? { compression: 's2' as const } : {}),
    maxAgeMs: (settings.EVENTS_KEEP_DAYS ?? limits.eventsKeptDays) * dayMs,
    // nats-server keeps the ids of up to three windows in memory, some 100 bytes each.
    duplicateWindowMs: 5 * 60 * 1000,
    settings: { ...every.settings, maxAgeMs: fromSetting('EVENTS_KEEP_DAYS', settings) },
  };
}

export function eventsStreamSpec(settings: StreamSettings) {
  const both = ofEvents(settings);
  return {
    ...both,
    name: eventsStream,
    description: 'What happened to the records of every integration',
    subjects: [eventsFilter],
    retention: 'limits' as const,
    atomicBatches: true,
    bytesMax: settings.EVENTS_MAX_BYTES ?? 0,
    settings: { ...both.settings, bytesMax: fromSetting('EVENTS_MAX_BYTES', settings) },
  };
}

/** The log that webhooks reads. Every reader keeps its own offset, so a batch stays for as long as its events. */
export const eventBatchesStreamSpec = (settings: StreamSettings) => ({
  ...ofEvents(settings),
  name: eventBatchesStream,
  description: 'The same, those of a push as one message, divided by integration: the log of webhooks',
  subjects: [eventBatchesFilter],
  retention: 'limits' as const,
  subjectTransform: partitionTransform,
  republish: storedBatchesRepublished,
});
