import { clusterRights } from '../../mcp/targets/facts.ts';
import { z } from 'zod';
import { proxyAudit, proxyLogging, proxyTracing } from '../../config/index.ts';
import { logLevels } from '../../model/index.ts';
import { crdRules, podResources } from '../../schema/index.ts';
import { said } from '../translate/settings.ts';

/**
 * The settings for the proxies of a Gateway: the `spec` of a PortcullisParameters. The CRD is made of it (`npm
 * run generate`), so what is wrong is refused when it is written; the same schema looks at it again here.
 */

const name = z.string().min(1).max(253);
const text = z.string().max(4_096);
const texts = z.record(z.string(), text);

const share = z
  .union([z.int().min(0), z.string().regex(/^([0-9]|[1-9][0-9]|100)%$/)])
  .describe('A number of pods, or a share of them in percent.');

const metadata = z
  .strictObject({ labels: texts.optional(), annotations: texts.optional() })
  .describe('Labels and annotations to add.');

const free = z.record(z.string(), z.unknown());
const overlay = z.strictObject({ metadata: metadata.optional(), spec: free.optional() });

const service = z
  .strictObject({
    type: z.enum(['LoadBalancer', 'ClusterIP', 'NodePort']).optional().describe('LoadBalancer unless given.'),
    annotations: texts.optional().describe('For the controller of the load balancer.'),
    loadBalancerClass: name.optional(),
    externalTrafficPolicy: z
      .enum(['Cluster', 'Local'])
      .optional()
      .describe('Local keeps the addresses of the clients, and sends to nodes with a proxy only.'),
    loadBalancerSourceRanges: z
      .array(z.string().max(50))
      .max(100)
      .optional()
      .describe('The load balancer lets these in only.'),
  })
  .refine(
    ({ type, loadBalancerClass, loadBalancerSourceRanges }) =>
      type === undefined ||
      type === 'LoadBalancer' ||
      (loadBalancerClass === undefined && loadBalancerSourceRanges === undefined),
    'loadBalancerClass and loadBalancerSourceRanges go with type LoadBalancer only',
  )
  .refine(
    ({ type, externalTrafficPolicy }) => type !== 'ClusterIP' || externalTrafficPolicy === undefined,
    'externalTrafficPolicy does not go with type ClusterIP',
  )
  .meta(
    crdRules(
      {
        rule: "!has(self.type) || self.type == 'LoadBalancer' || !(has(self.loadBalancerClass) || has(self.loadBalancerSourceRanges))",
        message: 'loadBalancerClass and loadBalancerSourceRanges go with type LoadBalancer only',
      },
      {
        rule: "!has(self.type) || self.type != 'ClusterIP' || !has(self.externalTrafficPolicy)",
        message: 'externalTrafficPolicy does not go with type ClusterIP',
      },
    ),
  );

const autoscaling = z
  .strictObject({
    minReplicas: z.int().min(1).max(1_000).optional().describe('1 unless given.'),
    maxReplicas: z.int().min(1).max(1_000),
    cpuUtilization: z
      .int()
      .min(1)
      .max(1_000)
      .optional()
      .describe('Percent of the CPU requested that is aimed at; 70 unless given.'),
  })
  .refine(
    ({ minReplicas = 1, maxReplicas }) => minReplicas <= maxReplicas,
    'minReplicas is at most maxReplicas',
  )
  .meta(
    crdRules({
      rule: '!has(self.minReplicas) || self.minReplicas <= self.maxReplicas',
      message: 'minReplicas is at most maxReplicas',
    }),
  );

const disruptionBudget = z
  .strictObject({ minAvailable: share.optional(), maxUnavailable: share.optional() })
  .refine(
    ({ minAvailable, maxUnavailable }) => (minAvailable === undefined) !== (maxUnavailable === undefined),
    'either minAvailable or maxUnavailable is needed',
  )
  .meta(
    crdRules({
      rule: 'has(self.minAvailable) != has(self.maxUnavailable)',
      message: 'either minAvailable or maxUnavailable is needed',
    }),
  );

const overlays = z
  .strictObject({
    deployment: overlay.optional(),
    service: overlay.optional(),
    serviceAccount: z.strictObject({ metadata: metadata.optional() }).optional(),
    networkPolicy: overlay.optional(),
    horizontalPodAutoscaler: overlay.optional(),
    podDisruptionBudget: overlay.optional(),
  })
  .describe(
    'Merge patches (RFC 7396) on the objects that are made. Of lists whose entries have names, entries of the same name are merged, and others added.',
  );

const networkPolicy = z
  .strictObject({
    enabled: z.boolean().optional().describe('Make a NetworkPolicy for the proxies; true unless given.'),
    metricsFrom: z
      .array(free)
      .max(32)
      .optional()
      .describe(
        'Peers of a NetworkPolicy that may read the metrics. Namespaces with the label `metrics: enabled` unless given; nobody where the list is empty.',
      ),
  })
  .describe('Who may open which port of the proxies.');

const right = z.enum(['None', 'Same', 'All']);

const mcp = z
  .strictObject(
    Object.fromEntries(
      clusterRights.map(({ name: field, description }) => [field, right.optional().describe(description)]),
    ),
  )
  .describe('What McpBackends may ask of the Gateway.');

const store = z
  .strictObject({
    redis: z
      .strictObject({
        url: z
          .string()
          .max(1_024)
          .regex(/^rediss?:\/\/[^@?#\s]+$/, {
            error: 'expected redis://host:port, or rediss:// for TLS, without a user and a password',
          })
          .describe('Address of the server: redis://host:port/database, or rediss:// for TLS.'),
        secretName: name
          .optional()
          .describe(
            'Secret in the namespace of the Gateway: `username`, `password`, `ca.crt`, `tls.crt`, `tls.key`, each if needed.',
          ),
        keyPrefix: z
          .string()
          .regex(/^[\x21-\x7e]{0,64}$/, { error: 'expected at most 64 visible characters of ASCII' })
          .optional()
          .describe(
            'Begins every key, before the namespace and the name of the Gateway; `portcullis:` unless given.',
          ),
      })
      .describe('A server of Redis or Valkey.'),
  })
  .describe('Place of the state that the proxies of a Gateway share; without it each proxy has its own.');

export const parametersSchema = z
  .strictObject({
    image: z.string().min(1).max(1_024).optional().describe('That of the controller unless given.'),
    imagePullPolicy: z.enum(['Always', 'IfNotPresent', 'Never']).optional(),
    imagePullSecrets: z.array(z.strictObject({ name })).max(16).optional(),
    replicas: z.int().min(0).max(1_000).optional().describe('1 unless given.'),
    resources: podResources.optional().describe('Of each proxy, instead of the usual ones.'),
    logLevel: z.enum(logLevels).optional(),
    logFormat: z.enum(['text', 'json']).optional(),
    service: service.optional(),
    mcp: mcp.optional(),
    store: store.optional(),
    audit: proxyAudit.optional(),
    tracing: proxyTracing.optional(),
    logging: proxyLogging.optional(),
    autoscaling: autoscaling.optional(),
    disruptionBudget: disruptionBudget.optional(),
    networkPolicy: networkPolicy.optional(),
    podAnnotationPrefixes: z
      .array(name)
      .max(64)
      .optional()
      .describe(
        'Prefixes of annotations that pods and their account take from `spec.infrastructure.annotations`, beside those without a prefix. app.kubernetes.io and prometheus.io unless given. The Service takes all.',
      ),
    overlays: overlays.optional(),
  })
  .refine(
    ({ replicas, autoscaling: scaled }) => replicas === undefined || scaled === undefined,
    'replicas does not go with autoscaling',
  )
  .meta(
    crdRules({
      rule: '!(has(self.replicas) && has(self.autoscaling))',
      message: 'replicas does not go with autoscaling',
    }),
  );

type Written = z.input<typeof parametersSchema>;
/** The fields that proxies read, so they stay as they are written. */
type OfProxies = 'audit' | 'tracing' | 'logging';

export type ProxyParameters = Omit<z.output<typeof parametersSchema>, OfProxies> & Pick<Written, OfProxies>;

/** The parameters in a `spec`, or its problem. */
export function readParameters(spec: unknown): { parameters: ProxyParameters } | { problem: string } {
  const result = parametersSchema.safeParse(spec);
  if (!result.success) return { problem: said(result.error.issues) };
  const others: Omit<typeof result.data, OfProxies> = result.data;
  const { audit, tracing, logging } = spec as Written;
  return {
    parameters: {
      ...others,
      ...(audit && { audit }),
      ...(tracing && { tracing }),
      ...(logging && { logging }),
    },
  };
}

export type Overlays = NonNullable<ProxyParameters['overlays']>;

/** The chosen parameters of a Gateway. */
export interface ChosenParameters extends Omit<ProxyParameters, 'overlays'> {
  /**
   * Overlays are applied one after the other: merged beforehand, a null would be lost that takes a field out of
   * an object.
   */
  readonly overlays: readonly Overlays[];
}

/** The parameters of a Gateway over those of its class, field by field. */
export function chosenParameters(ofClass: ProxyParameters, ofGateway: ProxyParameters): ChosenParameters {
  const { replicas, autoscaling: scaled, ...rest } = ofClass;
  // Either of them replaces the other.
  const ownNumber = ofGateway.replicas !== undefined || ofGateway.autoscaling !== undefined;
  return {
    ...rest,
    ...(ownNumber ? {} : { replicas, autoscaling: scaled }),
    ...ofGateway,
    service: { ...ofClass.service, ...ofGateway.service },
    overlays: [ofClass.overlays, ofGateway.overlays].filter((one) => one !== undefined),
  };
}
