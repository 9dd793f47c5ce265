// The rules as Prometheus itself evaluates them: which alerts fire within three minutes of a fault. A timeline has several
// installations, each with a fault of its own, because Prometheus evaluates one timeline faster than many. One installation is
// always well and has one replica of each service, so it must neither hide a loss nor alert.
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { readRules, rulesPath } from '../../support/deploy-files.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { findPromtool } from '../../support/promtool.ts';

const run = promisify(execFile);
let promtool = '';
beforeAll(async () => {
  const found = await findPromtool();
  if (found === undefined)
    throw new Error('no promtool: put Prometheus on PATH (Debian: apt install prometheus)');
  promtool = found;
}, 90_000);

/** By series, its values in Prometheus's notation: one a minute, and what a fault makes of it after the first hour. */
type Series = Record<string, string>;

const minutes = { before: 60, after: 36 };
/** A value that stays, or that is another once the hour is over. */
const then = (before: number, after: number | 'NaN' = before): string =>
  `${before}+0x${minutes.before} ${`${after} `.repeat(minutes.after)}`.trim();
/** Of a counter that rises by so much every minute. */
const rising = (before: number, after = before): string =>
  `0+${before}x${minutes.before} ${before * minutes.before + after}+${after}x${minutes.after}`;
/** The clock of Prometheus begins at 0. */
const clock = (offAfter = 0): string =>
  `0+60x${minutes.before} ${(minutes.before + 1) * 60 + offAfter}+60x${minutes.after}`;
/** Its process is scraped no more. */
const gone = (values: string): string => `${values.split(' ')[0]} stale`;

const daySeconds = 86_400;

const services = ['gateway', 'catalog', 'batches', 'webhooks'];

const of = (name: string, labels: Record<string, string>): string =>
  `${name}{${Object.entries(labels)
    .map(([label, value]) => `${label}="${value}"`)
    .join(',')}}`;

function wellInstallation(namespace: string, replicas: number): Series {
  const series: Series = {};
  for (const service of services) {
    for (let replica = 1; replica <= replicas; replica += 1) {
      const labels = { namespace, service, instance: `${service}-${replica}` };
      series[of('sync_build_info', { ...labels, version: '1', revision: 'a' })] = then(1);
      series[of('sync_served', labels)] = then(1);
      series[of('sync_clock_seconds', labels)] = clock();
      series[of('nodejs_eventloop_lag_p99_seconds', labels)] = then(0.01);
      const engines = service === 'gateway' ? ['nats', 'issuer'] : ['mongodb', 'nats'];
      for (const engine of engines) series[of('sync_engine_up', { ...labels, engine })] = then(1);
      if (service === 'gateway') continue;
      for (const [name, value] of streamGauges)
        series[of(name, { ...labels, stream: 'EVENTS' })] = then(value);
      if (service === 'catalog')
        for (const kind of ['supplier', 'product', 'batch'])
          series[of('sync_overdue', { ...labels, kind })] = then(0);
      if (service !== 'webhooks') series[of('sync_unannounced_seconds', labels)] = then(0);
      else {
        series[of('webhook_partitions_owned', labels)] = then(32 / replicas);
        series[of('sync_stream_full_seconds', { ...labels, stream: 'EVENTS' })] = then(3 * daySeconds);
      }
    }
  }
  Object.assign(series, ofDeliveries(namespace), ofPushes(namespace));
  const gateway = { namespace, service: 'gateway', instance: 'gateway-1' };
  for (const [outcome, each] of [
    ['ok', 100],
    ['unauthorized', 0],
    ['internal', 0],
    ['unavailable', 0],
  ] as const) {
    series[of('sync_requests_total', { ...gateway, subject: 'POST', outcome })] = rising(each);
    if (outcome === 'unavailable')
      series[of('sync_request_errors_total', { ...gateway, subject: 'POST', outcome })] = rising(each);
  }
  series[of('sync_requests_total', { ...gateway, subject: 'GET /readyz', outcome: 'unavailable' })] =
    rising(0);
  return series;
}

/** Of one replica: what the alerts on deliveries read. */
function ofDeliveries(namespace: string): Series {
  const labels = { namespace, service: 'webhooks', instance: 'webhooks-1' };
  return {
    ...buckets('webhook_read_lag_seconds_bucket', labels, ['1', '30']),
    [of('webhook_attempts_total', { ...labels, outcome: 'succeeded' })]: rising(100),
    [of('webhook_attempts_total', { ...labels, outcome: 'failed' })]: rising(1),
    [of('webhook_disabled_total', { ...labels, reason: 'failures' })]: rising(0),
    [of('webhook_lost_total', labels)]: rising(0),
    [of('webhook_log_restored', labels)]: then(0),
    [of('webhook_silence_seconds', labels)]: then(2.5),
  };
}

const ofPushes = (namespace: string): Series =>
  buckets(
    'sync_request_seconds_bucket',
    { namespace, service: 'catalog', instance: 'catalog-1', subject: 'svc.catalog.suppliers.push' },
    ['1', '10'],
  );

/** A histogram whose values are all below the first bound. */
const buckets = (name: string, labels: Record<string, string>, bounds: readonly string[]): Series =>
  Object.fromEntries([...bounds, '+Inf'].map((le) => [of(name, { ...labels, le }), rising(100)]));

const streamGauges = [
  ['sync_stream_replicas', 3],
  ['sync_stream_replicas_current', 3],
  ['sync_stream_has_leader', 1],
  ['sync_stream_differs', 0],
  ['sync_stream_made_seconds', 10],
] as const;

/** What a fault makes of the series of an installation. */
type Change = (well: Series) => Series;
const unchanged: Change = (well) => well;

/** Changes each series whose name and labels contain all these texts. */
const where =
  (texts: readonly string[], change: string | ((values: string) => string)): Change =>
  (well) => {
    const found = Object.keys(well).filter((name) => texts.every((text) => name.includes(text)));
    if (found.length === 0) throw new Error(`no series has ${texts.join(' and ')}`);
    return {
      ...well,
      ...Object.fromEntries(
        found.map((name) => [name, typeof change === 'string' ? change : change(well[name] ?? '')]),
      ),
    };
  };

/** A replica of another build starts beside those of the installation. */
const withOtherBuild: Change = (well) => {
  const labels = { namespace: 'one', service: 'catalog', instance: 'catalog-3', version: '2', revision: 'b' };
  return { ...well, [of('sync_build_info', labels)]: `_x${minutes.before} 1+0x${minutes.after}` };
};

/** The alerts that fire so many minutes after the fault, by these minutes, each with its namespace. */
async function firing(series: Series, afterMinutes: readonly number[]): Promise<string[][]> {
  await using folder = await temporaryFolder();
  const file = join(folder.path, 'test.json');
  const asked = afterMinutes.map((after) => ({
    expr: 'count by (alertname, namespace) (ALERTS{alertstate="firing"})',
    eval_time: `${minutes.before + after}m`,
    exp_samples: [{ labels: '{never="so"}', value: 1 }],
  }));
  const tests = [
    {
      interval: '1m',
      input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
      promql_expr_test: asked,
    },
  ];
  await writeFile(file, JSON.stringify({ rule_files: [rulesPath], evaluation_interval: '1m', tests }));
  const failed = await run(promtool, ['test', 'rules', file]).then(
    () => Promise.reject(new Error('promtool did not say what fires')),
    (error: { stdout: string; stderr: string }) => `${error.stdout}${error.stderr}`,
  );
  const fired = [...failed.matchAll(/got:(.*)/g)].map(([, got = '']) =>
    [...got.matchAll(/alertname="(\w+)"(?:, namespace="(\w+)")?/g)]
      .map(([, alert, namespace = '']) => `${alert} ${namespace}`.trim())
      .toSorted(),
  );
  if (fired.length !== afterMinutes.length) throw new Error(failed);
  return fired;
}

/** promtool loads only 10,000 samples for one query. */
const installationsMax = 10;

/** Beside an installation that is well: the alerts of each changed installation, by minutes. */
async function firingBeside(
  replicas: number,
  changes: readonly Change[],
  afterMinutes: readonly number[],
): Promise<Map<number, string[]>[]> {
  if (changes.length > installationsMax) {
    const first = await firingBeside(replicas, changes.slice(0, installationsMax), afterMinutes);
    return [...first, ...(await firingBeside(replicas, changes.slice(installationsMax), afterMinutes))];
  }
  const changed = changes.map((change, at) =>
    Object.entries(change(wellInstallation('one', replicas))).map(
      ([name, values]) => [name.replace('namespace="one"', `namespace="n${at}"`), values] as const,
    ),
  );
  const fired = await firing(
    { ...Object.fromEntries(changed.flat()), ...wellInstallation('well', 1) },
    afterMinutes,
  );
  const others = fired.flat().filter((one) => !/ n\d+$/.test(one));
  if (others.length > 0) throw new Error(`alerts of no changed installation: ${others.join(', ')}`);
  return changes.map(
    (_, at) =>
      new Map(
        fired.map((alerts, nth) => [
          afterMinutes[nth] ?? 0,
          alerts.filter((one) => one.endsWith(` n${at}`)).map((one) => one.replace(/ .*/, '')),
        ]),
      ),
  );
}

it('promtool loads every alerting rule', async () => {
  const rules = await readRules();
  const { stdout, stderr } = await run(promtool, ['check', 'rules', rulesPath]);
  expect(Number(/SUCCESS: (\d+) rules found/.exec(stdout + stderr)?.[1])).toBe(rules.length);
});

/** By the fault: the alert that fires within three minutes. */
const faults: readonly [string, string, Change][] = [
  ['a service is away', 'AServiceIsDown', where(['service="catalog"'], gone)],
  ['its only gateway is away', 'AServiceIsDown', where(['service="gateway"'], gone)],
  ['MongoDB is away, and nobody asks', 'AnEngineIsAway', where(['engine="mongodb"'], then(1, 0))],
  ['NATS is away', 'AnEngineIsAway', where(['engine="nats"'], then(1, 0))],
  ['the issuer is away', 'AnEngineIsAway', where(['engine="issuer"'], then(1, 0))],
  ['a service tells of no engine', 'AnEngineIsAway', where(['sync_engine_up', '"batches"'], gone)],
  ['a start waits', 'AReplicaDoesNotServe', where(['sync_served', '"webhooks"'], then(1, 0))],
  ['a clock is minutes ahead', 'AClockIsOff', where(['sync_clock_seconds', '"catalog"'], clock(300))],
  ['a clock is minutes behind', 'AClockIsOff', where(['sync_clock_seconds', '"gateway"'], clock(-300))],
  ['a stream was made again', 'AStreamWasCreatedAgain', where(['made_seconds'], then(10, 3_610))],
  ['a stream has no leader', 'AStreamIsInDanger', where(['has_leader'], then(1, 0))],
  ['a stream lacks copies', 'AStreamIsInDanger', where(['replicas_current'], then(3, 2))],
  ['a replica lacks a setting', 'ASettingIsForgotten', where(['differs', '"catalog"'], then(0, 1))],
  ['events do not go out', 'EventsDoNotGoOut', where(['unannounced', '"catalog"'], then(0, 100))],
  ['a push is overdue', 'APushIsOverdue', where(['overdue', '"product"'], then(0, 1))],
  ['a stream fills', 'AStreamFills', where(['full_seconds'], then(3 * daySeconds, 1.9 * daySeconds))],
  [
    'nobody can tell whether a stream fills',
    'AStreamFills',
    where(['full_seconds'], then(3 * daySeconds, 'NaN')),
  ],
  ['nobody can tell whether they do', 'EventsDoNotGoOut', where(['unannounced'], then(0, 'NaN'))],
  [
    'every token is refused',
    'CallersAreRefused',
    (well) => where(['"unauthorized"'], rising(0, 100))(where(['"ok"', 'POST'], rising(100, 1))(well)),
  ],
  ['requests have a fault', 'AFaultOfOurs', where(['"internal"'], rising(0, 1))],
  ['the system is not ready', 'NotReady', where(['GET /readyz'], rising(0, 10))],
  ['the log dropped undelivered events', 'DeliveriesAreLost', where(['webhook_lost'], rising(0, 1))],
  ['NATS was restored', 'NATSIsAnOlderCopy', where(['webhook_log_restored'], then(0, 1))],
  ['others took partitions', 'PartitionsChangeHands', where(['webhook_silence'], then(2.5, 10))],
];

const outage = where(['"unavailable"', 'POST'], `0+0x${minutes.before} 50 100 100+0x${minutes.after}`);
const quiet = where(['attempts', '"succeeded"'], then(0));
const deadWebhook = where(['attempts', '"failed"'], `0+0x${minutes.before} 8 17+0x${minutes.after}`);

describe('with one replica of each service', () => {
  let fired: Map<number, string[]>[];
  const changes = [
    ...faults.map(([, , change]) => change),
    unchanged,
    outage,
    (well: Series) => deadWebhook(quiet(well)),
  ];
  const [healthy, short, dead] = [-3, -2, -1];
  beforeAll(async () => {
    fired = await firingBeside(1, changes, [3, 6, 11]);
  }, 180_000);

  it.each(faults.map(([what, alert], at) => [what, alert, at] as const))(
    'an alert names the installation within three minutes where %s',
    (_what, alert, at) => expect(fired[at]?.get(3)).toEqual([alert]),
  );

  it('no alert fires in a healthy system', () => {
    expect([...(fired.at(healthy) ?? [])]).toEqual([3, 6, 11].map((minute) => [minute, []]));
  });

  it('no alert fires four minutes after requests failed for two minutes', () => {
    expect(fired.at(short)?.get(6)).toEqual([]);
  });

  it.each([6, 11])('no alert fires %i minutes after all attempts at the only webhook failed', (later) => {
    expect(fired.at(dead)?.get(later)).toEqual([]);
  });
});

/** The installation as Prometheus scrapes it outside Kubernetes. */
const withoutNamespace: Change = (series) =>
  Object.fromEntries(
    Object.entries(series).map(([name, values]) => [name.replace(/namespace="one",?/, ''), values]),
  );

describe('where no series has a label namespace', () => {
  it('no alert fires in a healthy system', async () => {
    expect(await firing(withoutNamespace(wellInstallation('one', 1)), [3])).toEqual([[]]);
  });

  it.each(services)('the alert “A service is down” fires for %s', async (service) => {
    const away = where([`service="${service}"`], gone)(wellInstallation('one', 1));
    const [alerts] = await firing(withoutNamespace(away), [3]);
    expect(alerts).toContain('AServiceIsDown');
  });
});

const before = (forMinutes: number): number => forMinutes - 1;
/** What is computed over minutes follows the fault by these. */
const after = (forMinutes: number): number => forMinutes + 5;

describe('with two replicas of each service', () => {
  const slow: readonly [string, number, string, Change][] = [
    ['a replica is missing', 5, 'AReplicaIsMissing', where(['build_info', '"catalog-2"'], gone)],
    ['requests fail', 5, 'RequestsFail', where(['"unavailable"', 'POST'], rising(0, 10))],
    ['pushes take seconds', 10, 'PushesAreSlow', where(['request_seconds', 'le="1"'], rising(100, 0))],
    ['the log is read late', 10, 'DeliveriesLag', where(['read_lag', 'le="1"'], rising(100, 0))],
    ['a partition has no owner', 10, 'DeliveriesLag', where(['partitions_owned'], then(16, 15))],
    ['attempts fail', 5, 'OutboundHTTPFails', where(['attempts', '"failed"'], rising(1, 1_000))],
    ['webhooks are disabled', 5, 'OutboundHTTPFails', where(['"failures"'], rising(0, 20))],
    ['an event loop is blocked', 5, 'AProcessIsBlocked', where(['eventloop', '"batches-1"'], then(0.01, 1))],
    ['two builds run', 30, 'ARolloutDoesNotEnd', withOtherBuild],
  ];
  let fired: Map<number, string[]>[];
  beforeAll(async () => {
    const read = new Set(slow.flatMap(([, forMinutes]) => [before(forMinutes), after(forMinutes)]));
    fired = await firingBeside(2, [...slow.map(([, , , change]) => change), unchanged], [...read]);
  }, 180_000);

  it.each(slow.map(([what, forMinutes, alert], at) => [what, forMinutes, alert, at] as const))(
    'an alert names the installation only where %s for %i minutes',
    (_what, forMinutes, alert, at) => {
      expect(fired[at]?.get(before(forMinutes))).toEqual([]);
      expect(fired[at]?.get(after(forMinutes))).toEqual([alert]);
    },
  );

  it('no alert fires in a healthy system', () => {
    expect([...(fired.at(-1)?.values() ?? ['none'])].flat()).toEqual([]);
  });
});

it('each alert fires in a test', async () => {
  const names = (await readRules()).map(({ alert }) => alert);
  const source = await readFile(import.meta.filename, 'utf8');
  expect(names.filter((name) => !source.includes(`'${name}'`))).toEqual([]);
});
