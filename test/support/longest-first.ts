// The order of the files of a run. Those that last longest begin first, so that none of them stands alone at the end,
// those that compute beside others that wait; and those that measure a schedule when most of the computing is over.
import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Each lasts for more than twenty seconds. The others follow, layer by layer. */
const longest = [
  'system/storm',
  'component/webhooks/weather',
  'component/sync/crashes',
  'component/bus/failover',
  'system/cluster',
  'component/webhooks/takeover',
  'component/sync/weather',
  'component/webhooks/proxy',
  'system/weather',
  'component/gateway/key-set',
  'component/webhooks/fairness',
  'component/runtime/store-away',
  'system/path',
  'component/sync/archive-crashes',
  'component/webhooks/schedule',
  'component/webhooks/takeover-retries',
  'component/runtime/store-cut',
  'component/sync/order',
  'component/webhooks/zoo',
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
