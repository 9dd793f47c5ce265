import { eventBatchesStreamSpec, eventsStreamSpec } from '@integration-sync/contracts';
import { expect, it } from 'vitest';

it.each([eventsStreamSpec, eventBatchesStreamSpec])(
  'a stream of events is compressed only while it has a single copy',
  (specOf) => {
    expect(specOf({})).toMatchObject({ replicas: 1, compression: 's2' });
    const copied = specOf({ STREAM_REPLICAS: 3 });
    expect(copied.replicas).toBe(3);
    expect(copied).not.toHaveProperty('compression');
  },
);
