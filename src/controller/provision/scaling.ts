import type { KubeObject, ObjectMeta } from '../api/object.ts';
import { selectorOf } from './names.ts';
import type { ProxyRequest } from './request.ts';

/** The autoscaler, if the parameters ask for one. */
export function autoscalerOf({ parameters }: ProxyRequest, metadata: ObjectMeta): KubeObject | undefined {
  if (parameters.autoscaling === undefined) return undefined;
  const { minReplicas = 1, maxReplicas, cpuUtilization = 70 } = parameters.autoscaling;
  const target = { type: 'Utilization', averageUtilization: cpuUtilization };
  return {
    apiVersion: 'autoscaling/v2',
    kind: 'HorizontalPodAutoscaler',
    metadata,
    spec: {
      scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: metadata.name },
      minReplicas,
      maxReplicas,
      metrics: [{ type: 'Resource', resource: { name: 'cpu', target } }],
    },
  };
}

/** The disruption budget, if the parameters ask for one. */
export function disruptionBudgetOf(
  { gateway, parameters }: ProxyRequest,
  metadata: ObjectMeta,
): KubeObject | undefined {
  if (parameters.disruptionBudget === undefined) return undefined;
  return {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata,
    spec: {
      ...parameters.disruptionBudget,
      selector: { matchLabels: selectorOf(gateway.metadata.name) },
      // A pod that is not ready serves nobody: it must not keep a node from being emptied.
      unhealthyPodEvictionPolicy: 'AlwaysAllow',
    },
  };
}
