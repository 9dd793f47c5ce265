// The order of the files of a run. The longest begin first, so that none of them runs alone at the end; those
// that compute run beside others that wait; and those that measure a schedule run when most of the computing
// is over.
import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Each lasts for more than twenty seconds. The others follow, layer by layer. */
export const longest: readonly string[] = [
  'system/storm',
  'component/ops/purge',
  'component/webhooks/partitions',
  'component/webhooks/partition-numbers',
  'component/webhooks/outages',
  'component/sync/crashes',
  'component/bus/failover',
  'system/cluster',
  'component/webhooks/takeover',
  'component/sync/outages',
  'component/webhooks/proxy',
  'system/outages',
  'component/gateway/key-set',
  'component/webhooks/fairness',
  'component/ops/commands',
  'component/sync/listings',
  'component/ops/streams',
  'component/bus/shrinking',
  'component/runtime/store-away',
  'system/path',
  'component/sync/archive-crashes',
  'component/webhooks/schedule',
  'component/webhooks/takeover-retries',
  'component/runtime/store-cut',
  'component/sync/order',
  'component/webhooks/receiver-behaviours',
  'system/pushes',
  'component/sync/late',
  'component/webhooks/coherence',
  'component/runtime/starts',
  'component/sync/reading',
  'component/webhooks/management',
  'component/engines',
  'component/engines-and-services',
  'component/sync/metrics',
  'component/webhooks/attempts',
];

const layers = ['system', 'component', 'unit'];

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return files.toSorted(
      (one, other) =>
        placeOf(one) - placeOf(other) ||
        layers.indexOf(one.project.name) - layers.indexOf(other.project.name) ||
        (one.moduleId < other.moduleId ? -1 : 1),
    );
  }
}

const folder = `${import.meta.dirname}/..`;

function placeOf({ moduleId }: TestSpecification): number {
  const name = relative(folder, moduleId).replaceAll('\\', '/');
  const place = longest.findIndex((one) => name === `${one}.test.ts`);
  return place === -1 ? longest.length : place;
}
