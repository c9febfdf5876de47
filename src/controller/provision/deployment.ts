import { isDeepStrictEqual } from 'node:util';
import type { KubeObject, ObjectMeta } from '../api/object.ts';
import { operatorPorts } from '../operatorPorts.ts';
import { proxyName, selectorOf } from './names.ts';
import type { ChosenParameters } from './parameters.ts';
import { patched } from './patch.ts';
import { mountedSecret, proxySettings, type PodPart } from './proxySettings.ts';
import type { Installation, ProxyRequest } from './request.ts';

/** The audience of the tokens of proxies: a stolen token opens nothing else. */
export const tokenAudience = 'portcullis.dev/controller';
const tokenFolder = '/var/run/secrets/portcullis.dev/token';
const trustFolder = '/var/run/secrets/portcullis.dev/trust';
const cacheFolder = '/var/cache/portcullis';
/** Not root, and nobody else on a node. */
const user = 65_532;
/** Seconds: a Service takes a pod out, the pod finishes what runs, and something to spare. */
const terminationGrace = 60;
/** Tells a proxy how long it has, so that it ends by itself before it is killed. */
const graceVariable = 'TERMINATION_GRACE_PERIOD_SECONDS';
/** Only the pod itself reaches it, `kubectl port-forward` among others: that is how the console is opened. */
const adminAddress = '127.0.0.1:15000';

/** The pods of a Gateway. Nothing in them depends on what the Gateway serves, so that a change restarts none. */
export function deploymentOf(
  request: ProxyRequest,
  metadata: ObjectMeta,
  podMetadata: Pick<ObjectMeta, 'labels' | 'annotations'>,
): KubeObject {
  const selector = selectorOf(request.gateway.metadata.name);
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata,
    spec: {
      replicas: replicasOf(request),
      selector: { matchLabels: selector },
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
      template: { metadata: podMetadata, spec: podOf(planOf(request, selector)) },
    },
  };
}

/** The number of the autoscaler is repeated as it is: if it were left out, the server would make it 1. */
function replicasOf({ parameters: { replicas = 1, autoscaling }, replicas: present }: ProxyRequest): number {
  if (autoscaling === undefined) return replicas;
  const { minReplicas = 1, maxReplicas } = autoscaling;
  return Math.min(Math.max(present ?? minReplicas, minReplicas), maxReplicas);
}

/** A pod that serves a model of the controller. */
export interface PodPlan {
  /** The name by which its model is requested. */
  readonly model: string;
  readonly account: string;
  /** The ConfigMap by which it knows the controller. */
  readonly trust: string;
  readonly installation: Installation;
  readonly parameters: Pick<
    ChosenParameters,
    'image' | 'imagePullPolicy' | 'imagePullSecrets' | 'resources' | 'logLevel' | 'logFormat'
  >;
  /** The settings that only some of them have. */
  readonly security?: object;
  readonly spread?: object;
  readonly env?: readonly object[];
  readonly args?: readonly string[];
  readonly mounts?: readonly object[];
  readonly volumes?: readonly object[];
}

function planOf(request: ProxyRequest, selector: object): PodPlan {
  const { gateway, parameters, installation } = request;
  const { namespace = '', name } = gateway.metadata;
  const parts = [...storeOf(request), ...proxySettings(parameters)];
  return {
    model: `${namespace}/${name}`,
    account: proxyName(name),
    trust: proxyName(name),
    installation,
    parameters,
    // Listeners keep the ports they name, 80 too, without a privilege.
    security: { sysctls: [{ name: 'net.ipv4.ip_unprivileged_port_start', value: '0' }] },
    spread: {
      topologySpreadConstraints: ['topology.kubernetes.io/zone', 'kubernetes.io/hostname'].map(
        (topologyKey) => ({
          maxSkew: 1,
          topologyKey,
          whenUnsatisfiable: 'ScheduleAnyway',
          labelSelector: { matchLabels: selector },
        }),
      ),
    },
    // Clusters from 1.35 on label pods with the zone of their node; elsewhere it is empty.
    env: [
      {
        name: 'ZONE',
        valueFrom: { fieldRef: { fieldPath: "metadata.labels['topology.kubernetes.io/zone']" } },
      },
    ],
    args: parts.flatMap(({ args }) => args),
    mounts: parts.flatMap(({ mounts }) => mounts),
    volumes: parts.flatMap(({ volumes }) => volumes),
  };
}

/** The store of the parameters. Each Gateway has keys of its own there. */
function storeOf({ gateway, parameters }: ProxyRequest): readonly PodPart[] {
  if (parameters.store === undefined) return [];
  const { namespace = '', name } = gateway.metadata;
  const { url, secretName, keyPrefix = 'portcullis:' } = parameters.store.redis;
  const args = [`--store=${url}`, `--store-prefix=${keyPrefix}${namespace}/${name}:`];
  const part = { args, mounts: [], volumes: [] };
  return secretName === undefined ? [part] : [part, mountedSecret('store', secretName, 'store-files')];
}

export function podOf(plan: PodPlan): object {
  const { account, trust, parameters, installation, security, spread, volumes = [] } = plan;
  const [host = ''] = installation.controller.split(':');
  const { controllerAddress } = installation;
  return {
    serviceAccountName: account,
    // The one token it gets is for the controller alone.
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    terminationGracePeriodSeconds: terminationGrace,
    securityContext: {
      runAsNonRoot: true,
      runAsUser: user,
      runAsGroup: user,
      fsGroup: user,
      seccompProfile: { type: 'RuntimeDefault' },
      ...security,
    },
    ...spread,
    ...(parameters.imagePullSecrets === undefined ? {} : { imagePullSecrets: parameters.imagePullSecrets }),
    ...(controllerAddress === undefined
      ? {}
      : { hostAliases: [{ ip: controllerAddress, hostnames: [host] }] }),
    containers: [containerOf(plan)],
    volumes: [
      {
        name: 'token',
        projected: {
          defaultMode: 0o440,
          sources: [
            { serviceAccountToken: { audience: tokenAudience, expirationSeconds: 3_600, path: 'token' } },
          ],
        },
      },
      { name: 'trust', configMap: { name: trust, items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
      // The cache holds private keys: in memory, not on the disk of a node.
      { name: 'cache', emptyDir: { medium: 'Memory', sizeLimit: '64Mi' } },
      ...volumes,
    ],
  };
}

function containerOf({ model, parameters, installation, env = [], args = [], mounts = [] }: PodPlan): object {
  const { image = installation.image, imagePullPolicy = installation.imagePullPolicy } = parameters;
  const { stats, readiness } = operatorPorts;
  const probe = (path: string): object => ({ httpGet: { path, port: 'readiness' } });
  return {
    name: 'proxy',
    image,
    ...(imagePullPolicy === undefined ? {} : { imagePullPolicy }),
    args: [
      'proxy',
      `--gateway=${model}`,
      `--controller=${installation.controller}`,
      `--token-file=${tokenFolder}/token`,
      `--ca-file=${trustFolder}/ca.crt`,
      `--cache=${cacheFolder}`,
      `--log-level=${parameters.logLevel ?? 'info'}`,
      `--log-format=${parameters.logFormat ?? 'text'}`,
      `--admin=${adminAddress}`,
      `--stats=[::]:${String(stats)}`,
      `--readiness=[::]:${String(readiness)}`,
      ...args,
    ],
    env: [
      { name: 'POD_NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
      // After the signal to end it is not ready, and serves on until that has got around; then it lets what runs finish.
      { name: 'CONNECTION_MIN_TERMINATION_DEADLINE', value: '5s' },
      { name: graceVariable, value: String(terminationGrace) },
      // The secret of the admin port is kept here, in memory.
      { name: 'XDG_RUNTIME_DIR', value: cacheFolder },
      ...env,
    ],
    ports: [
      { name: 'stats', containerPort: stats, protocol: 'TCP' },
      { name: 'readiness', containerPort: readiness, protocol: 'TCP' },
    ],
    resources: parameters.resources ?? {
      requests: { cpu: '50m', memory: '128Mi' },
      limits: { memory: '512Mi' },
    },
    // Slow to start is a matter of the first probe, so that the others can be quick.
    startupProbe: { ...probe('/healthz/live'), periodSeconds: 1, failureThreshold: 60 },
    readinessProbe: { ...probe('/healthz/ready'), periodSeconds: 2, timeoutSeconds: 2, failureThreshold: 2 },
    livenessProbe: { ...probe('/healthz/live'), periodSeconds: 10, timeoutSeconds: 5, failureThreshold: 6 },
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    },
    volumeMounts: [
      { name: 'token', mountPath: tokenFolder, readOnly: true },
      { name: 'trust', mountPath: trustFolder, readOnly: true },
      { name: 'cache', mountPath: cacheFolder },
      ...mounts,
    ],
  };
}

/** A Deployment whose proxies know how long they have to drain, also where an overlay has changed it. */
export function withItsDrain(object: KubeObject): KubeObject {
  if (object.kind !== 'Deployment') return object;
  const { spec } = (object['spec'] as { readonly template?: { readonly spec?: Data } }).template ?? {};
  const seconds = spec?.['terminationGracePeriodSeconds'];
  if (spec === undefined || typeof seconds !== 'number' || seconds === terminationGrace) return object;
  const variable = (value: number): object => ({ name: graceVariable, value: String(value) });
  // An overlay that says it itself knows better.
  const containers = (spec['containers'] as readonly Data[]).map((container) =>
    container['name'] === 'proxy' && Array.isArray(container['env'])
      ? {
          ...container,
          env: container['env'].map((one) =>
            isDeepStrictEqual(one, variable(terminationGrace)) ? variable(seconds) : (one as object),
          ),
        }
      : container,
  );
  return patched(object, { spec: { template: { spec: { containers } } } }) as KubeObject;
}

type Data = Readonly<Record<string, unknown>>;
