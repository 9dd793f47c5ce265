import { Failure, subjects } from '@integration-sync/contracts';
import { openLog } from '@integration-sync/runtime/log';
import { expect, it } from 'vitest';
import { originOf } from '../../../services/webhooks/src/log/logged-batch.ts';
import { openCutoff, unknownPushes } from '../../../services/webhooks/src/matching/cutoff.ts';

const log = openLog({ service: 'test', level: 'silent' });
const asking = { integration: 'acme', requestId: 'one' };

/** Services that answer what they have yet to announce, and a stream; `asked` says in which order. */
function setUp(answers: Record<string, string[] | Failure | object>) {
  const asked: string[] = [];
  const draw = openCutoff({
    bus: {
      async request(subject, { headers }) {
        asked.push(`${subject} of ${headers?.['integration']}`);
        await new Promise((resolve) => setTimeout(resolve, 20));
        const answer = answers[subject];
        if (answer instanceof Failure) throw answer;
        const body = Array.isArray(answer) ? { syncIds: answer } : answer;
        return { headers: new Map(), body: Buffer.from(JSON.stringify(body)) };
      },
      async streamFacts() {
        asked.push('the stream');
        return { madeAt: new Date(), firstSequence: 1, lastSequence: 42, lastAt: new Date(0) };
      },
    },
    endpoints: {
      unannouncedOf: async () => [
        {
          _id: 'wh_1',
          unannounced: [{ epoch: 3, at: new Date(7), url: '', reason: 'manual', consecutiveFailures: 0 }],
        },
      ],
    },
    streamReset: { willStore: async () => undefined },
    log,
  });
  return { asked, draw: () => draw(asking) };
}

it('the cutoff asks the services for unannounced pushes before it reads the end of the stream EVENTS', async () => {
  const { asked, draw } = setUp({
    [subjects.catalogRunsUnannounced]: ['sync_a', 'sync_b'],
    [subjects.batchesRunsUnannounced]: ['sync_c'],
  });
  expect(await draw()).toEqual({
    through: 42,
    underWay: ['sync_a', 'sync_b', 'sync_c', 'wh_1-disabled-3-7'],
  });
  expect(asked).toEqual([
    'svc.catalog.runs.unannounced of acme',
    'svc.batches.runs.unannounced of acme',
    'the stream',
  ]);
});

it.each([
  ['is away', new Failure('unavailable', 'away')],
  ['is of another release', { nothing: true }],
])('the cutoff is computed without a service that %s', async (_what, answer) => {
  const { draw } = setUp({
    [subjects.catalogRunsUnannounced]: answer,
    [subjects.batchesRunsUnannounced]: ['sync_c'],
  });
  expect(await draw()).toEqual({ through: 42, underWay: ['sync_c', 'wh_1-disabled-3-7'] });
});

it('the cutoff names the unknown pushes of a service that does not answer in time', async () => {
  const { draw } = setUp({
    [subjects.catalogRunsUnannounced]: new Failure('timeout', 'no answer'),
    [subjects.batchesRunsUnannounced]: ['sync_c'],
  });
  expect(await draw()).toEqual({ through: 42, underWay: [unknownPushes, 'sync_c', 'wh_1-disabled-3-7'] });
});

it.each([
  ['sync_01a1ff6631b927db23daa3d2bae5c19c-created-0', 'sync_01a1ff6631b927db23daa3d2bae5c19c'],
  ['sync_01a1ff6631b927db23daa3d2bae5c19c-completed', 'sync_01a1ff6631b927db23daa3d2bae5c19c'],
  ['wh_1-disabled-3-7', 'wh_1-disabled-3-7'],
  ['event-17', 'event-17'],
])('the id %s of an event names its push or change, %s', (eventId, origin) => {
  expect(originOf(eventId)).toBe(origin);
});
