// The order of the files of a run. The longest begin first, so that none of them runs alone at the end; those
// that compute run beside others that wait; and those that measure a schedule run when most of the computing
// is over.
import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files that take more than ten seconds each. All other files follow them, layer by layer. */
export const longest: readonly string[] = [
  'system/storm',
  'component/bus/failover',
  'system/cluster',
  'component/sync/outages',
  'component/sync/crashes',
  'system/console',
  'component/webhooks/outages',
  'system/snippets',
  'component/webhooks/partitions',
  'component/nats-accounts-upgrade',
  'component/ops/purge',
  'system/outages',
  'system/receivers',
  'system/mixed-releases',
  'system/path',
  'system/tail',
  'system/answers',
  'system/pushes',
  'system/metrics',
  'system/traces',
  'system/console-crowd',
  'system/console-events',
  'system/console-link',
  'component/ops/commands',
  'component/ops/streams',
  'component/webhooks/takeover',
  'component/webhooks/fairness',
  'component/webhooks/proxy',
  'component/webhooks/schedule',
  'component/webhooks/takeover-retries',
  'component/bus/shrinking',
  'component/sync/listings',
  'component/ops/reseal',
  'component/gateway/key-set',
  'component/sync/late',
  'component/webhooks/coherence',
  'component/runtime/store-away',
  'component/sync/order',
  'component/sync/archive-crashes',
  'component/webhooks/receiver-behaviours',
  'component/webhooks/management',
  'component/bus/requests',
  'component/runtime/store-cut',
  'component/sync/metrics',
  'component/runtime/starts',
  'component/sync/reading',
  'component/engines',
  'component/engines-and-services',
  'component/webhooks/attempts',
];

const layers = ['system', 'component', 'unit'];

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return files.toSorted(
      (one, other) =>
        placeOf(one) - placeOf(other) ||
        layerOf(one) - layerOf(other) ||
        (one.moduleId < other.moduleId ? -1 : 1),
    );
  }
}

const folder = `${import.meta.dirname}/..`;

const nameOf = ({ moduleId }: TestSpecification): string => relative(folder, moduleId).replaceAll('\\', '/');

const layerOf = (file: TestSpecification): number => layers.indexOf(nameOf(file).split('/', 1)[0] ?? '');

function placeOf(file: TestSpecification): number {
  const name = nameOf(file);
  const place = longest.findIndex((one) => name === `${one}.test.ts`);
  return place === -1 ? longest.length : place;
}
