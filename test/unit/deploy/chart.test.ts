// The chart as it was rendered (npm run chart), checked without helm. test/component/deploy/chart.test.ts renders it again where
// there is a helm.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  firstLineOf,
  notesFile,
  readme,
  readmeFile,
  renderings,
  schemaFile,
  schemaWithSettings,
} from '@integration-sync/dev/chart';
import { configs } from '@integration-sync/dev/configs';
import { listSettings, readConfig } from '@integration-sync/runtime/config';
import { HTTPRoute } from '@kubernetes-models/gateway-api/gateway.networking.k8s.io/v1';
import {
  PrometheusRule,
  ServiceMonitor,
} from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1';
import { Deployment, type IDeployment } from 'kubernetes-models/apps/v1';
import { HorizontalPodAutoscaler } from 'kubernetes-models/autoscaling/v2';
import { Job, type IJob } from 'kubernetes-models/batch/v1';
import { Ingress, NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1';
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1';
import { ConfigMap, Pod, Service, ServiceAccount, type IContainer } from 'kubernetes-models/v1';
import { Ajv } from 'ajv';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { identityOf, nameOf, ofKind, readRendered, type KubernetesObject } from '../../support/chart.ts';
import { differences } from '../../support/differences.ts';
import { parsePromql } from '../../support/promql.ts';
import { readDashboards, readRules, repository } from '../../support/deploy-files.ts';
import { exampleSecrets } from '../../support/secrets.ts';

const models = {
  ConfigMap,
  Deployment,
  HorizontalPodAutoscaler,
  HTTPRoute,
  Ingress,
  Job,
  NetworkPolicy,
  Pod,
  PodDisruptionBudget,
  PrometheusRule,
  Service,
  ServiceAccount,
  ServiceMonitor,
} as const;

const validate = (object: KubernetesObject): void => {
  // A kind of KEDA, which a test below holds whole.
  if (object.kind === 'ScaledObject') return;
  const Model = models[object.kind] as new (data: unknown) => { validate(): void };
  new Model(object).validate();
};

const services = Object.keys(configs) as (keyof typeof configs)[];

const podOf = ({ spec }: Pick<IDeployment | IJob, 'spec'>) => {
  const { metadata, spec: pod } = spec?.template ?? {};
  const [container] = pod?.containers ?? [];
  if (pod === undefined || container === undefined) throw new Error('a deployment without a container');
  return { labels: metadata?.labels ?? {}, pod, container };
};

const matches = (selector: Record<string, string> = {}, labels: Record<string, string>): boolean =>
  Object.entries(selector).every(([label, value]) => labels[label] === value);

/** What the process is told, with a secret in place of the file that has it. */
function environmentOf({ env = [] }: IContainer): Record<string, string> {
  const told = env.map(({ name, value = '' }): [string, string] => {
    const [, secret] = /^(\w+)_FILE$/.exec(name) ?? [];
    // The setting is the file itself, which the gateway reads again and again.
    return secret === undefined || name === 'AUTH_CLIENTS_FILE'
      ? [name, value]
      : [secret, exampleSecrets[secret] ?? ''];
  });
  return Object.fromEntries(told);
}

describe.each(renderings)('the chart as %s', async (name) => {
  const { firstLine, objects } = await readRendered(name);
  const deployments = ofKind(objects, 'Deployment');
  const pods = deployments.map((deployment) => ({ deployment, ...podOf(deployment) }));
  const jobs = ofKind(objects, 'Job').map(podOf);
  const hooks = ofKind(objects, 'Pod').map(({ spec: pod }) =>
    podOf({ spec: { template: { spec: pod ?? { containers: [] } } } }),
  );
  const podWith = (selector: Record<string, string> | undefined) =>
    pods.filter(({ labels }) => matches(selector, labels));

  it('is rendered from the present deploy/helm (npm run chart renders it)', async () => {
    expect(firstLine).toBe(await firstLineOf(name));
  });

  it('keeps to the schemas of Kubernetes', () => {
    for (const object of objects) expect(() => validate(object)).not.toThrow();
    expect(new Set(objects.map(identityOf)).size).toBe(objects.length);
    // Names of these kinds are in DNS or in a label of their pods.
    for (const object of [...ofKind(objects, 'Service'), ...ofKind(objects, 'Job')])
      expect(nameOf(object).length).toBeLessThanOrEqual(63);
    expect(new Set(objects.map(({ metadata }) => metadata?.namespace))).toEqual(new Set(['sync']));
  });

  it('has a deployment for each service, which runs its program', () => {
    expect(pods.map(({ container }) => container.name).toSorted()).toEqual(services.toSorted());
    for (const { container } of pods) {
      expect(container.args).toEqual([`services/${container.name}/src/main.ts`]);
    }
  });

  it.each(services)('gives %s valid settings of its own', (service) => {
    const { container } = pods.find((one) => one.container.name === service) ?? {};
    const told = environmentOf(container ?? { name: '' });
    const known = new Set([...listSettings(configs[service]).map((setting) => setting.name), ...extraEnv]);
    expect(Object.keys(told).filter((setting) => !known.has(setting))).toEqual([]);
    expect(() => readConfig(configs[service], told)).not.toThrow();
    expect(told).toMatchObject({ METRICS_HOST: '0.0.0.0', METRICS_PORT: '9464' });
    expect(told).toMatchObject(
      service === 'gateway' ? { GATEWAY_HOST: '0.0.0.0', GATEWAY_PORT: '8080' } : { STREAM_REPLICAS: '3' },
    );
  });

  it('mounts the files of secrets that the settings name, readable for the group of the process alone', () => {
    for (const { pod, container } of pods) {
      const files = (container.env ?? []).filter(({ value }) => value?.startsWith('/run/secrets/'));
      expect(files).not.toEqual([]);
      const [mount] = container.volumeMounts ?? [];
      const secret = pod.volumes?.find((volume) => volume.name === mount?.name)?.secret;
      expect(files.map(({ value = '' }) => value).toSorted()).toEqual(
        secret?.items?.map(({ path }) => `${mount?.mountPath}/${path}`).toSorted(),
      );
      expect(mount?.readOnly).toBe(true);
      expect(secret?.defaultMode).toBe(0o440);
      expect(secret?.secretName).toMatch(new RegExp(`-${container.name}$`));
    }
  });

  it('runs nothing as root, with a root filesystem that is read-only', () => {
    for (const { pod, container } of [...pods, ...jobs, ...hooks]) {
      expect(pod.securityContext).toEqual({
        runAsNonRoot: true,
        runAsUser: 1_000,
        runAsGroup: 1_000,
        fsGroup: 1_000,
        seccompProfile: { type: 'RuntimeDefault' },
      });
      expect(container.securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
      expect(pod.automountServiceAccountToken).toBe(false);
      // A Service named `gateway` would set GATEWAY_PORT to an address.
      expect(pod.enableServiceLinks).toBe(false);
      expect(container.resources?.limits).toHaveProperty('memory');
      expect(container.resources?.requests).toHaveProperty('cpu');
    }
  });

  it('has the probes and grace periods of docs/operating.md', () => {
    for (const { pod, container, deployment } of pods) {
      const isGateway = container.name === 'gateway';
      expect(container.livenessProbe).toEqual({
        httpGet: isGateway ? { path: '/healthz', port: 'http' } : { path: '/metrics', port: 'metrics' },
        periodSeconds: 10,
        timeoutSeconds: 3,
        failureThreshold: 3,
      });
      expect(container.readinessProbe).toEqual(
        isGateway
          ? {
              httpGet: { path: '/healthz', port: 'http' },
              periodSeconds: 5,
              timeoutSeconds: 3,
              failureThreshold: 2,
            }
          : undefined,
      );
      expect(container.startupProbe).toEqual({
        exec: {
          command: ['bash', '-c', expect.stringMatching(/^bash healthcheck\.sh 9464 \/ready \|\| \{ grep /)],
        },
        periodSeconds: 2,
        timeoutSeconds: 3,
        failureThreshold: 300,
      });
      expect(deployment.spec?.progressDeadlineSeconds).toBe(180);
      expect(pod.terminationGracePeriodSeconds).toBe(isGateway ? 30 : 20);
      expect(container.lifecycle?.preStop?.exec?.command).toEqual(isGateway ? ['sleep', '5'] : undefined);
    }
  });

  it('never stops a replica before another one is ready, and spreads replicas over nodes', () => {
    for (const { deployment, labels, pod } of pods) {
      expect(deployment.spec?.strategy?.rollingUpdate).toEqual({ maxSurge: 1, maxUnavailable: 0 });
      const spread = pod.topologySpreadConstraints ?? [];
      expect(spread.map(({ topologyKey }) => topologyKey)).toEqual([
        'topology.kubernetes.io/zone',
        'kubernetes.io/hostname',
      ]);
      for (const { labelSelector } of spread) expect(matches(labelSelector?.matchLabels, labels)).toBe(true);
    }
  });

  it('selects the pods of each service by labels that no upgrade changes', () => {
    const budgets = ofKind(objects, 'PodDisruptionBudget');
    const policies = ofKind(objects, 'NetworkPolicy');
    const selectors = [
      ...deployments.map((object) => [object, object.spec?.selector.matchLabels] as const),
      ...ofKind(objects, 'Service').map((object) => [object, object.spec?.selector] as const),
      ...budgets.map((object) => [object, object.spec?.selector?.matchLabels] as const),
      ...policies.map((object) => [object, object.spec?.podSelector?.matchLabels] as const),
    ];
    expect([budgets.length, policies.length]).toEqual([4, 5]);
    for (const [object, selector] of selectors) {
      if (nameOf(object).endsWith('-ops')) continue;
      const [pod, ...others] = podWith(selector);
      expect(others).toEqual([]);
      expect(nameOf(object)).toMatch(new RegExp(`-${pod?.container.name}(-metrics)?$`));
      expect(Object.keys(selector ?? {})).toEqual([
        'app.kubernetes.io/name',
        'app.kubernetes.io/instance',
        'app.kubernetes.io/component',
      ]);
    }
  });

  it('has Services and network policies for ports that the pods have', () => {
    for (const { spec } of ofKind(objects, 'Service')) {
      const [pod] = podWith(spec?.selector);
      const ports = pod?.container.ports?.map((port) => port.name);
      for (const { targetPort } of spec?.ports ?? []) expect(ports).toContain(targetPort);
    }
    for (const { metadata, spec } of ofKind(objects, 'NetworkPolicy')) {
      if (metadata?.name?.endsWith('-ops')) continue;
      const [pod] = podWith(spec?.podSelector?.matchLabels);
      const open = spec?.ingress?.flatMap(({ ports = [] }) => ports.map(({ port }) => port));
      expect(open?.toSorted()).toEqual(pod?.container.ports?.map((port) => port.name).toSorted());
    }
  });

  it('leaves the number of replicas to an autoscaler where there is one', () => {
    const scaled = [
      ...ofKind(objects, 'HorizontalPodAutoscaler').map(({ spec }) => spec?.scaleTargetRef.name),
      ...ofKind(objects, 'ScaledObject').map(({ spec }) => spec?.scaleTargetRef.name),
    ];
    expect(scaled.length).toBe(name === 'production' || name === 'upgraded' ? 2 : 0);
    for (const deployment of deployments) {
      const isScaled = scaled.includes(nameOf(deployment));
      expect(deployment.spec?.replicas === undefined).toBe(isScaled);
    }
  });

  it('opens MongoDB only to services that store data', () => {
    for (const { metadata, spec } of ofKind(objects, 'NetworkPolicy')) {
      const ports = spec?.egress?.flatMap((rule) => rule.ports?.map(({ port }) => port) ?? []) ?? [];
      expect(ports.includes(27_017)).toBe(!metadata?.name?.endsWith('-gateway'));
      expect(ports).toEqual(expect.arrayContaining([53, 4_222]));
    }
  });
});

/** Of test/chart/values/extended.yaml. */
const extraEnv = ['NODE_EXTRA_CA_CERTS', 'NODE_NAME'];

const byIdentity = (objects: readonly KubernetesObject[]): object =>
  Object.fromEntries(objects.map((object) => [identityOf(object), object]));

const containerOf = (service: string): string =>
  `Deployment acme-integration-sync-${service}.spec.template.spec.containers.${service}`;

it('an upgrade with changed values changes only the fields of the chart that these values configure', async () => {
  const before = await readRendered('production');
  const after = await readRendered('upgraded');
  expect(differences(byIdentity(before.objects), byIdentity(after.objects))).toEqual([
    `${containerOf('catalog')}.env.PUSHES_AT_ONCE_MAX`,
    `${containerOf('webhooks')}.image`,
    'HorizontalPodAutoscaler acme-integration-sync-gateway.spec.maxReplicas',
    // Webhooks that is newer than the others finds the streams of its release.
    'Job acme-integration-sync-ops-streams-1.spec.template.spec.containers.ops.image',
  ]);
});

it('the chart scales only webhooks by its lag, with a valid ScaledObject of KEDA', async () => {
  const { objects } = await readRendered('production');
  const [scaled, ...others] = ofKind(objects, 'ScaledObject');
  expect(others).toEqual([]);
  const name = 'acme-integration-sync-webhooks';
  expect(ofKind(objects, 'HorizontalPodAutoscaler').map(nameOf)).not.toContain(name);
  expect(scaled).toMatchObject({ apiVersion: 'keda.sh/v1alpha1', metadata: { name } });
  const scaleDown = {
    stabilizationWindowSeconds: 300,
    policies: [{ type: 'Pods', value: 1, periodSeconds: 60 }],
  };
  expect(scaled?.spec).toEqual({
    scaleTargetRef: { name },
    minReplicaCount: 2,
    maxReplicaCount: 6,
    advanced: { horizontalPodAutoscalerConfig: { behavior: { scaleDown } } },
    triggers: [
      {
        type: 'prometheus',
        metricType: 'Value',
        metadata: {
          serverAddress: 'http://prometheus.monitoring:9090',
          query: expect.stringContaining('webhook_read_lag_seconds_bucket{namespace="sync"}'),
          threshold: '5',
        },
      },
    ],
  });
  const { wrongAt, selectors } = parsePromql(scaled?.spec?.triggers[0]?.metadata['query'] ?? '');
  expect([wrongAt, selectors.length]).toEqual([[], 1]);
});

it('the chart leads an Ingress and a route from outside to the port of the gateway', async () => {
  const { objects } = await readRendered('exposed');
  const gateway = ofKind(objects, 'Service').find((object) => nameOf(object).endsWith('-gateway'));
  const [ingress] = ofKind(objects, 'Ingress');
  const [route] = ofKind(objects, 'HTTPRoute');
  const [rule] = ingress?.spec?.rules ?? [];
  expect(ingress?.metadata?.annotations).toEqual({ 'nginx.ingress.kubernetes.io/proxy-body-size': '6m' });
  expect(ingress?.spec).toMatchObject({ ingressClassName: 'nginx', tls: [{ secretName: 'sync-tls' }] });
  expect(rule?.host).toBe('sync.example.com');
  const [path] = rule?.http?.paths ?? [];
  expect(path?.backend.service).toEqual({ name: gateway?.metadata?.name, port: { name: 'http' } });
  expect(route?.spec).toMatchObject({
    parentRefs: [{ name: 'public', namespace: 'gateways' }],
    hostnames: ['sync.example.com'],
    rules: [{ backendRefs: [{ name: gateway?.metadata?.name, port: gateway?.spec?.ports?.[0]?.port }] }],
  });
});

it('the chart makes Prometheus read every replica, and has alerting rules and dashboards', async () => {
  const { objects } = await readRendered('monitored');
  const [monitor] = ofKind(objects, 'ServiceMonitor');
  const [rules] = ofKind(objects, 'PrometheusRule');
  for (const object of [monitor, rules])
    expect(object?.metadata?.labels).toMatchObject({ release: 'prometheus' });
  const monitored = ofKind(objects, 'Service').filter(({ metadata }) =>
    matches(monitor?.spec.selector.matchLabels, metadata?.labels ?? {}),
  );
  const [endpoint, ...others] = monitor?.spec.endpoints ?? [];
  expect(others).toEqual([]);
  expect(endpoint).toEqual({ port: 'metrics', path: '/metrics', interval: '15s', honorLabels: true });
  const read = monitored.filter(({ spec }) => spec?.ports?.some(({ name }) => name === endpoint?.port));
  expect(read.map(nameOf).toSorted()).toEqual(
    services.map((name) => `acme-integration-sync-${name}-metrics`).toSorted(),
  );
  expect(rules?.spec.groups?.flatMap((group) => group.rules ?? [])).toEqual(await readRules());

  const dashboards = ofKind(objects, 'ConfigMap');
  const kept = (await readDashboards()).map(({ file, ...board }) => [
    file.replace('deploy/grafana/', ''),
    board,
  ]);
  expect(
    dashboards.flatMap(({ data = {} }) =>
      Object.entries(data).map(([file, text]) => [file, JSON.parse(text)]),
    ),
  ).toEqual(kept);
  for (const { metadata } of dashboards) expect(metadata?.labels).toMatchObject({ grafana_dashboard: 'yes' });
});

it('the chart has no optional object by default', async () => {
  const { objects } = await readRendered('defaults');
  const asked = new Set(['ConfigMap', 'HTTPRoute', 'Ingress', 'Job', 'PrometheusRule', 'ServiceMonitor']);
  expect(objects.filter(({ kind }) => asked.has(kind)).map(identityOf)).toEqual([]);
});

const digest = (digit: string): string => `integration-sync-service@sha256:${digit.repeat(64)}`;

it('the chart gives every object, pod and container the configured labels and annotations', async () => {
  const { objects } = await readRendered('extended');
  const images: Record<string, string> = {
    webhooks: digest('2'),
    catalog: 'integration-sync-service:1.1.0',
    batches: digest('1'),
    gateway: digest('1'),
  };
  for (const { metadata } of objects) {
    expect(metadata?.name).toMatch(/^supply(-|$)/);
    expect(metadata?.labels).toMatchObject({ 'example.com/cost-centre': '4711' });
    expect(metadata?.annotations).toMatchObject({ 'example.com/owner': 'integrations' });
  }
  for (const { metadata } of ofKind(objects, 'Pod')) {
    expect(metadata?.labels).toMatchObject({ 'example.com/mesh': 'on' });
    expect(metadata?.annotations).toMatchObject({ 'example.com/log-format': 'json', 'helm.sh/hook': 'test' });
  }
  for (const deployment of ofKind(objects, 'Deployment')) {
    const { labels, pod, container } = podOf(deployment);
    expect(labels).toMatchObject({ 'example.com/mesh': 'on', 'example.com/cost-centre': '4711' });
    expect(deployment.spec?.template.metadata?.annotations).toEqual({
      'example.com/log-format': 'json',
      'prometheus.io/scrape': 'false',
      'prometheus.io/port': '9464',
      'prometheus.io/path': '',
    });
    expect(container.image).toBe(images[container.name]);
    expect(pod.volumes?.map(({ name }) => name)).toEqual(['secrets', 'nats-ca', 'company-ca']);
    expect(container.volumeMounts?.map(({ mountPath }) => mountPath)).toEqual([
      '/run/secrets/integration-sync',
      '/etc/nats-ca',
      '/etc/company-ca',
    ]);
    expect(container.env).toEqual(
      expect.arrayContaining([
        { name: 'NATS_TLS_CA_FILE', value: '/etc/nats-ca/ca.crt' },
        { name: 'NODE_NAME', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } },
      ]),
    );
  }
});

it('a setting of one service overrides the setting of all services, also by the value false', async () => {
  const { objects } = await readRendered('extended');
  const told = ofKind(objects, 'Deployment').map((deployment) => {
    const { container } = podOf(deployment);
    return [container.name, environmentOf(container)['STREAMS_MAY_SHRINK']];
  });
  expect(Object.fromEntries(told)).toEqual({ catalog: 'true', batches: 'false', webhooks: 'true' });
});

it('the chart makes a Job of an operator’s command, with the login of operators and the settings of the services', async () => {
  const { objects } = await readRendered('operated');
  const [job, streams, ...others] = ofKind(objects, 'Job');
  expect(others).toEqual([]);
  expect(job?.metadata?.generateName).toBe('acme-integration-sync-ops-');
  // A Job cannot be changed, so that each installation and upgrade has its own.
  expect(streams?.metadata?.name).toBe('acme-integration-sync-ops-streams-1');
  expect(podOf(streams ?? { spec: { template: {} } }).container.args).toEqual(['ops', 'streams', '--apply']);
  const { labels, pod, container } = podOf(job ?? { spec: { template: {} } });
  expect(pod.restartPolicy).toBe('Never');
  expect(container.args).toEqual(['ops', 'reseal', '--check']);
  expect(pod.volumes?.[0]?.secret?.secretName).toBe('operators');
  const told = environmentOf(container);
  expect(told).toMatchObject({ STREAM_REPLICAS: '3', EVENTS_MAX_BYTES: '20000000000', LOG_LEVEL: 'info' });
  expect(Object.keys(told)).toEqual(
    expect.arrayContaining(['NATS_URL', 'MONGODB_URL', 'WEBHOOK_SECRET_KEY']),
  );
  expect(() => readConfig(configs.webhooks, told)).not.toThrow();
  const policies = ofKind(objects, 'NetworkPolicy').filter(({ spec }) =>
    matches(spec?.podSelector?.matchLabels, labels),
  );
  expect(policies.map(nameOf)).toEqual(['acme-integration-sync-ops']);
  const [policy] = policies;
  expect(policy?.spec?.ingress).toEqual([]);
  const ports = policy?.spec?.egress?.flatMap((rule) => rule.ports?.map(({ port }) => port) ?? []);
  expect(ports).toEqual([53, 53, 4_222, 8_222, 27_017]);
});

it('the chart lets the pod of helm test reach the gateway under every network policy', async () => {
  for (const name of ['defaults', 'production'] as const) {
    const { objects } = await readRendered(name);
    const [pod] = ofKind(objects, 'Pod');
    expect(pod?.metadata?.annotations).toMatchObject({ 'helm.sh/hook': 'test' });
    const policy = ofKind(objects, 'NetworkPolicy').find((object) => nameOf(object).endsWith('-gateway'));
    const [{ from } = {}] = policy?.spec?.ingress ?? [];
    const isLetIn =
      from === undefined ||
      from.some(
        ({ podSelector }) => podSelector && matches(podSelector.matchLabels, pod?.metadata?.labels ?? {}),
      );
    expect(isLetIn).toBe(true);
  }
});

describe('the values of the chart', async () => {
  const schema = JSON.parse(await readFile(schemaFile, 'utf8')) as object;
  const defaults = parse(await readFile(join(repository, 'deploy/helm/values.yaml'), 'utf8')) as {
    services: Record<string, object>;
  };
  const isValid = new Ajv({ allowUnionTypes: true, strict: false }).compile(schema);

  it('keep to their schema, which knows each setting of each service (npm run chart writes them)', async () => {
    expect(isValid(defaults)).toBe(true);
    expect(schema).toEqual(JSON.parse(await schemaWithSettings()));
  });

  const catalog = { ...defaults.services['catalog'], env: { WEBHOOK_IN_FLIGHT_MAX: 1 } };
  it.each<[string, object]>([
    ['a setting that there is not', { storedEnv: { STREAM_REPLICA: 3 } }],
    ['a setting of the gateway for all others', { storedEnv: { GATEWAY_PORT: 8_080 } }],
    ['a misspelt setting', { env: { LOG_LEVELS: 'info' } }],
    ['a misspelt secret', { ops: { args: [], secretSettings: ['NATS_URLS'], env: {}, resources: {} } }],
    ['a setting of another service', { services: { ...defaults.services, catalog } }],
    ['half a digest', { image: { repository: 'x', digest: 'sha256:1' } }],
    ['a misspelt value', { ingres: { enabled: true } }],
  ])('are refused where they have %s', (_what, wrong) => {
    expect(isValid({ ...defaults, ...wrong })).toBe(false);
  });

  it('are in the README of the chart, each with its default', async () => {
    const page = await readFile(readmeFile, 'utf8');
    expect(page).toBe(await readme());
    expect(page).toMatch(/\| `services\.NAME\.replicas` +\| `2` +\|/);
  });
});

it('the chart’s notes after an installation have the address, the needed Secrets and the order of an upgrade', async () => {
  const notes = await readFile(notesFile, 'utf8');
  expect(notes).toContain('http://acme-integration-sync-gateway.sync:80/api/v1/integration');
  for (const name of services)
    expect(notes).toMatch(new RegExp(`^  acme-integration-sync-${name}: NATS_URL`, 'm'));
  // The Job that makes streams is of the new release from the first step on.
  const order = [...notes.matchAll(/--set (?:services\.)?(\w+)\.image/g)].map(([, name]) => name);
  expect(order).toEqual(['ops', 'webhooks', 'catalog', 'batches', 'gateway']);
  // The old image stays until the last step, and then no pod has it: the pod of helm test neither.
  expect([...notes.matchAll(/--set image\.tag=(\S+)/g)].map(([, tag]) => tag)).toEqual([
    expect.stringMatching(/^\d/),
    'NEW',
  ]);
});
