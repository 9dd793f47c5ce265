// The objects that the Helm chart renders for Kubernetes.
import { readFile } from 'node:fs/promises';
import { renderedFile, type Rendering } from '@integration-sync/dev/chart';
import type { IHTTPRoute } from '@kubernetes-models/gateway-api/gateway.networking.k8s.io/v1';
import type {
  IPrometheusRule,
  IServiceMonitor,
} from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1';
import type { IDeployment } from 'kubernetes-models/apps/v1';
import type { IHorizontalPodAutoscaler } from 'kubernetes-models/autoscaling/v2';
import type { IJob } from 'kubernetes-models/batch/v1';
import type { IIngress, INetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1';
import type { IPodDisruptionBudget } from 'kubernetes-models/policy/v1';
import type { IConfigMap, IPod, IService, IServiceAccount } from 'kubernetes-models/v1';
import { parseAllDocuments } from 'yaml';

/** A kind of KEDA, as far as the chart uses it. */
export interface IScaledObject {
  apiVersion: 'keda.sh/v1alpha1';
  kind: 'ScaledObject';
  metadata?: NonNullable<IDeployment['metadata']>;
  spec?: {
    scaleTargetRef: { name: string };
    triggers: { type: string; metricType: string; metadata: Record<string, string> }[];
  };
}

export type KubernetesObject =
  | IConfigMap
  | IDeployment
  | IHorizontalPodAutoscaler
  | IHTTPRoute
  | IIngress
  | IJob
  | INetworkPolicy
  | IPod
  | IPodDisruptionBudget
  | IPrometheusRule
  | IService
  | IServiceAccount
  | IServiceMonitor
  | IScaledObject;

/** The module of the kubernetes-models packages that exports the class of an object's kind. */
export const doorOf = ({ apiVersion }: KubernetesObject): string => {
  const [group = ''] = apiVersion.split('/');
  return `${packages[group] ?? 'kubernetes-models'}/${apiVersion}`;
};

const packages: Readonly<Record<string, string>> = {
  'gateway.networking.k8s.io': '@kubernetes-models/gateway-api',
  'monitoring.coreos.com': '@kubernetes-models/prometheus-operator',
};

export async function readRendered(
  name: Rendering,
): Promise<{ firstLine: string; objects: KubernetesObject[] }> {
  const text = await readFile(renderedFile(name), 'utf8');
  const documents = parseAllDocuments(text);
  const errors = documents.flatMap((document) => document.errors);
  if (errors.length > 0) throw new AggregateError(errors, `${name}.yaml is not YAML`);
  return {
    firstLine: text.split('\n', 1)[0] ?? '',
    objects: documents
      .map((document) => document.toJS() as KubernetesObject)
      .filter((object) => object !== null),
  };
}

export const ofKind = <K extends KubernetesObject['kind']>(
  objects: readonly KubernetesObject[],
  kind: K,
): Extract<KubernetesObject, { kind: K }>[] =>
  objects.filter((object): object is Extract<KubernetesObject, { kind: K }> => object.kind === kind);

export const nameOf = ({ metadata }: KubernetesObject): string =>
  metadata?.name ?? metadata?.generateName ?? '';

/** `Deployment acme-integration-sync-gateway` */
export const identityOf = (object: KubernetesObject): string => `${object.kind} ${nameOf(object)}`;
