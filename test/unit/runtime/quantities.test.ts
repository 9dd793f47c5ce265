import { describe, expect, it } from 'vitest';
import {
  changedConfig,
  compareQuantities,
  quantitiesOf,
  type Quantities,
} from '../../../shared/runtime/src/bus/quantities.ts';

// Which numbers of an existing stream a process changes: table of shared/runtime/src/bus/quantities.ts.

const found = { num_replicas: 3, max_age: 7_000_000_000, max_bytes: 1_000, max_msgs_per_subject: -1 };

/** What becomes of the stream above: its changes in nats-server's words, and what it keeps. */
function compare(spec: Quantities) {
  const { changes, left } = compareQuantities(spec, found);
  return { changes: changedConfig(spec, changes), left };
}
const set = (name: string) => ({ name, isSet: true });
const leftOut = (name: string) => ({ name, isSet: false });

describe('a setting that is set', () => {
  it.each([
    ['more copies', { replicas: 5 }, { num_replicas: 5 }],
    ['more time', { maxAgeMs: 8_000 }, { max_age: 8_000_000_000 }],
    ['all time', { maxAgeMs: 0 }, { max_age: 0 }],
    ['more bytes', { bytesMax: 1_001 }, { max_bytes: 1_001 }],
    ['all bytes', { bytesMax: 0 }, { max_bytes: -1 }],
  ])('sets %s', (_, spec, changes) => {
    expect(compare(spec)).toEqual({ changes, left: [] });
  });

  it.each([
    ['fewer copies', { replicas: 1 }, { num_replicas: 1 }],
    ['less time', { maxAgeMs: 6_000 }, { max_age: 6_000_000_000 }],
    ['fewer bytes', { bytesMax: 999 }, { max_bytes: 999 }],
    [
      'a number of messages where there was no limit',
      { messagesPerSubjectMax: 5 },
      { max_msgs_per_subject: 5 },
    ],
  ])('reduces %s only with STREAMS_MAY_SHRINK', (_, spec, changes) => {
    expect(compare(spec).changes).toEqual({});
    expect(compare(spec).left).toHaveLength(1);
    expect(compare({ ...spec, mayShrink: true })).toEqual({ changes, left: [] });
  });
});

it('an absent setting leaves the configuration of a stream unchanged', () => {
  for (const replicas of [1, 5]) {
    const spec = { replicas, mayShrink: true, settings: { replicas: leftOut('COPIES') } };
    expect(compare(spec)).toEqual({
      changes: {},
      left: [{ quantity: 'replicas', setting: leftOut('COPIES'), wanted: replicas, found: 3 }],
    });
  }
});

it('a stream that matches the settings, or has no settings, counts as unchanged', () => {
  const spec = { replicas: 3, maxAgeMs: 7_000, settings: { replicas: set('COPIES') } };
  expect(compare(spec)).toEqual({ changes: {}, left: [] });
  expect(quantitiesOf(spec)).toEqual({
    num_replicas: 3,
    max_age: 7_000_000_000,
    max_bytes: -1,
    max_msgs_per_subject: -1,
  });
});

it('a reported change of a stream has the found and the wanted quantity, each in its unit', () => {
  expect(compareQuantities({ maxAgeMs: 8_000, bytesMax: 0 }, found).changes).toEqual([
    { quantity: 'maxAgeMs', wanted: 8_000, found: 7_000 },
    { quantity: 'bytesMax', wanted: Infinity, found: 1_000 },
  ]);
});
