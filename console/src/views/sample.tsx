import { post } from '../api/request.ts';
import type { PushAnswer } from '../api/shapes.ts';
import { Action } from '../parts/action.tsx';

/** Two suppliers that are valid, and one that fails: its country is a name, not a code. */
const sample = {
  suppliers: [
    { externalId: 'SAMPLE-1', name: 'Nordic Timber AB', country: 'SE' },
    { externalId: 'SAMPLE-2', name: 'Sägewerk Müller', country: 'DE' },
    { externalId: 'SAMPLE-3', name: 'Baltic Oak OÜ', country: 'Estonia' },
  ],
};

export const PushSample = ({ again, onDone }: { again: boolean; onDone: () => void }) => (
  <Action<PushAnswer>
    label={again ? 'Push the sample again' : 'Push a sample'}
    kind={again ? 'plain' : 'main'}
    scope="integration:suppliers:write"
    request={post('/suppliers', sample)}
    said={({ created, updated, errors }) =>
      `${created} created, ${updated} known already, ${errors.length} failed.`
    }
    onDone={onDone}
  />
);
