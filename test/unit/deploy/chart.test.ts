// The chart as it was rendered (npm run chart), checked without helm. test/component/deploy/chart.test.ts renders it again where
// there is a helm.
import { firstLineOf, renderings } from '@integration-sync/dev/chart';
import { configs } from '@integration-sync/dev/configs';
import { listSettings, readConfig } from '@integration-sync/runtime/config';
import { Deployment, type IDeployment } from 'kubernetes-models/apps/v1';
import { HorizontalPodAutoscaler } from 'kubernetes-models/autoscaling/v2';
import { NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1';
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1';
import { Service, ServiceAccount, type IContainer } from 'kubernetes-models/v1';
import { describe, expect, it } from 'vitest';
import { identityOf, nameOf, ofKind, readRendered, type KubernetesObject } from '../../support/chart.ts';
import { differences } from '../../support/differences.ts';
import { exampleSecrets } from '../../support/secrets.ts';

const models = {
  Deployment,
  HorizontalPodAutoscaler,
  NetworkPolicy,
  PodDisruptionBudget,
  Service,
  ServiceAccount,
} as const;

const validate = (object: KubernetesObject): void => {
  const Model = models[object.kind] as new (data: unknown) => { validate(): void };
  new Model(object).validate();
};

const services = Object.keys(configs) as (keyof typeof configs)[];

const podOf = ({ spec }: IDeployment) => {
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
  const podWith = (selector: Record<string, string> | undefined) =>
    pods.filter(({ labels }) => matches(selector, labels));

  it('was rendered of what stands in deploy/helm (npm run chart renders it)', async () => {
    expect(firstLine).toBe(await firstLineOf(name));
  });

  it('keeps to the schemas of Kubernetes', () => {
    for (const object of objects) expect(() => validate(object)).not.toThrow();
    expect(new Set(objects.map(identityOf)).size).toBe(objects.length);
    expect(new Set(objects.map(({ metadata }) => metadata?.namespace))).toEqual(new Set(['sync']));
  });

  it('has a deployment for each service, which runs its program', () => {
    expect(pods.map(({ container }) => container.name).toSorted()).toEqual(services.toSorted());
    for (const { container } of pods) {
      expect(container.args).toEqual([`services/${container.name}/src/main.ts`]);
    }
  });

  it.each(services)('tells %s settings that it has, which make sense together', (service) => {
    const { container } = pods.find((one) => one.container.name === service) ?? {};
    const told = environmentOf(container ?? { name: '' });
    const known = new Set(listSettings(configs[service]).map((setting) => setting.name));
    expect(Object.keys(told).filter((setting) => !known.has(setting))).toEqual([]);
    expect(() => readConfig(configs[service], told)).not.toThrow();
    expect(told).toMatchObject({ METRICS_HOST: '0.0.0.0', METRICS_PORT: '9464' });
    expect(told).toMatchObject(
      service === 'gateway' ? { GATEWAY_HOST: '0.0.0.0', GATEWAY_PORT: '8080' } : { STREAM_REPLICAS: '3' },
    );
  });

  it('mounts the files of secrets that the settings name, readable for the group of the process alone', () => {
    for (const { pod, container } of pods) {
      const files = (container.env ?? []).filter((setting) => setting.name.endsWith('_FILE'));
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
    for (const { pod, container } of pods) {
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

  it('asks the probes, and waits for the end, as docs/operating.md says', () => {
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
      expect(deployment.spec?.minReadySeconds).toBe(isGateway ? undefined : 15);
      expect(pod.terminationGracePeriodSeconds).toBe(isGateway ? 30 : 20);
      expect(container.lifecycle?.preStop?.exec?.command).toEqual(isGateway ? ['sleep', '5'] : undefined);
    }
  });

  it('never takes a replica away before another one is there, and spreads them', () => {
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

  it('selects the pods of one service each, by labels that no upgrade changes', () => {
    const budgets = ofKind(objects, 'PodDisruptionBudget');
    const policies = ofKind(objects, 'NetworkPolicy');
    const selectors = [
      ...deployments.map((object) => [object, object.spec?.selector.matchLabels] as const),
      ...ofKind(objects, 'Service').map((object) => [object, object.spec?.selector] as const),
      ...budgets.map((object) => [object, object.spec?.selector?.matchLabels] as const),
      ...policies.map((object) => [object, object.spec?.podSelector?.matchLabels] as const),
    ];
    expect([budgets.length, policies.length]).toEqual([4, 4]);
    for (const [object, selector] of selectors) {
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

  it('leads each Service and each policy to a port that the pod has', () => {
    for (const { spec } of ofKind(objects, 'Service')) {
      const [pod] = podWith(spec?.selector);
      const ports = pod?.container.ports?.map((port) => port.name);
      for (const { targetPort } of spec?.ports ?? []) expect(ports).toContain(targetPort);
    }
    for (const { spec } of ofKind(objects, 'NetworkPolicy')) {
      const [pod] = podWith(spec?.podSelector?.matchLabels);
      const open = spec?.ingress?.flatMap(({ ports = [] }) => ports.map(({ port }) => port));
      expect(open?.toSorted()).toEqual(pod?.container.ports?.map((port) => port.name).toSorted());
    }
  });

  it('lets what scales a deployment say how many replicas it has, and nothing else', () => {
    const scaled = ofKind(objects, 'HorizontalPodAutoscaler').map(({ spec }) => spec?.scaleTargetRef.name);
    expect(scaled.length).toBe(name === 'defaults' ? 0 : 2);
    for (const deployment of deployments) {
      const isScaled = scaled.includes(nameOf(deployment));
      expect(deployment.spec?.replicas === undefined).toBe(isScaled);
    }
  });

  it('opens MongoDB only to what keeps things', () => {
    for (const { metadata, spec } of ofKind(objects, 'NetworkPolicy')) {
      const ports = spec?.egress?.flatMap((rule) => rule.ports?.map(({ port }) => port) ?? []) ?? [];
      expect(ports.includes(27_017)).toBe(!metadata?.name?.endsWith('-gateway'));
      expect(ports).toEqual(expect.arrayContaining([53, 4_222]));
    }
  });
});

const byIdentity = (objects: readonly KubernetesObject[]): object =>
  Object.fromEntries(objects.map((object) => [identityOf(object), object]));

const containerOf = (service: string): string =>
  `Deployment acme-integration-sync-${service}.spec.template.spec.containers.${service}`;

it('changes with an upgrade what the values change, and nothing else', async () => {
  const before = await readRendered('production');
  const after = await readRendered('upgraded');
  expect(differences(byIdentity(before.objects), byIdentity(after.objects))).toEqual([
    `${containerOf('catalog')}.env.PUSHES_AT_ONCE_MAX`,
    `${containerOf('webhooks')}.image`,
    'HorizontalPodAutoscaler acme-integration-sync-gateway.spec.maxReplicas',
  ]);
});
