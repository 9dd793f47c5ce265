// The streams that several services publish to or read. The first service that starts creates them, if its login may do so.
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

/** The name of a setting that decides a number in the configuration of a stream, and whether the setting is set. */
const fromSetting = <Name extends string>(
  name: Name,
  settings: Readonly<Partial<Record<Name, unknown>>>,
) => ({ name, isSet: settings[name] !== undefined });

/** The part of the configuration that every stream takes from the settings. */
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
    compression: 's2' as const,
    maxAgeMs: (settings.EVENTS_KEEP_DAYS ?? limits.eventsKeptDays) * dayMs,
    // nats-server keeps the message ids of up to three duplicate windows in memory, at some 100 bytes an id.
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

/** The stream EVENT_BATCHES, which webhooks reads. It keeps an event batch as long as EVENTS keeps the events of the batch. */
export const eventBatchesStreamSpec = (settings: StreamSettings) => ({
  ...ofEvents(settings),
  name: eventBatchesStream,
  description: 'The same, those of a push as one message, divided by integration: the log of webhooks',
  subjects: [eventBatchesFilter],
  retention: 'limits' as const,
  subjectTransform: partitionTransform,
  republish: storedBatchesRepublished,
});
