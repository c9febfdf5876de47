import type { Resource } from '../api/resource.ts';

const resource = (group: string, version: string, plural: string, kind: string): Resource => ({
  group,
  version,
  plural,
  kind,
  namespaced: true,
});

/** Every kind that is ever made, for Gateways or for McpBackends. */
export const provisionedResources: readonly Resource[] = [
  resource('', 'v1', 'serviceaccounts', 'ServiceAccount'),
  resource('', 'v1', 'configmaps', 'ConfigMap'),
  resource('apps', 'v1', 'deployments', 'Deployment'),
  resource('', 'v1', 'services', 'Service'),
  resource('autoscaling', 'v2', 'horizontalpodautoscalers', 'HorizontalPodAutoscaler'),
  resource('networking.k8s.io', 'v1', 'networkpolicies', 'NetworkPolicy'),
  resource('policy', 'v1', 'poddisruptionbudgets', 'PodDisruptionBudget'),
];
