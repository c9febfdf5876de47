import type { KubeObject, ObjectMeta } from '../api/object.ts';
import { operatorPorts } from '../operatorPorts.ts';
import {
  mcpAccountName,
  mcpModelKey,
  mcpPodName,
  mcpPodPort,
  podKeyOf,
  type McpPod,
} from '../translate/index.ts';
import { keyOfNamed } from '../translate/lookup.ts';
import { podOf } from './deployment.ts';
import { controllerAnnotation, installationAnnotation, selectorOf } from './names.ts';
import type { Installation } from './request.ts';

const temporary = '/tmp';

/** The inputs for the objects of a target with a pod of its own. */
export type PodRequest = Omit<McpPod, 'model'>;

/**
 * The objects of a target whose program runs in a pod of its own, in the order in which they are made: what the pod
 * needs comes before it, and what keeps others out too. A pure function.
 */
export function mcpPodObjects(request: PodRequest, installation: Installation): readonly KubeObject[] {
  const { object, target, gateways, image, resources } = request;
  const { namespace = '', name } = object.metadata;
  const { controllerName } = installation;
  const podName = mcpPodName(controllerName, name, target);
  const selector = {
    'portcullis.dev/mcp-pod': podName,
    'app.kubernetes.io/managed-by': 'portcullis',
  };
  const labels = {
    ...selector,
    'app.kubernetes.io/name': 'portcullis',
    'app.kubernetes.io/component': 'mcp',
  };
  const metadata: ObjectMeta = {
    name: podName,
    namespace,
    labels,
    annotations: {
      [controllerAnnotation]: controllerName,
      [installationAnnotation]: installation.controller,
    },
  };
  const account = mcpAccountName(controllerName, name, target);
  const spec = podOf({
    model: mcpModelKey(podKeyOf(keyOfNamed(object), target)),
    account,
    trust: metadata.name,
    installation,
    parameters: {
      ...(image === undefined ? {} : { image }),
      ...(resources === undefined ? {} : { resources }),
    },
    // Many programs expect a place for what they need for a moment.
    mounts: [{ name: 'tmp', mountPath: temporary }],
    volumes: [{ name: 'tmp', emptyDir: { sizeLimit: '256Mi' } }],
  });
  return [
    {
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { ...metadata, name: account },
      automountServiceAccountToken: false,
    },
    { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { 'ca.crt': installation.trust } },
    {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'NetworkPolicy',
      metadata,
      spec: {
        podSelector: { matchLabels: selector },
        policyTypes: ['Ingress'],
        ingress: [
          {
            from: gateways.map((gateway) => ({
              namespaceSelector: {
                matchLabels: { 'kubernetes.io/metadata.name': gateway.metadata.namespace },
              },
              podSelector: { matchLabels: selectorOf(gateway.metadata.name) },
            })),
            ports: [{ port: mcpPodPort, protocol: 'TCP' }],
          },
          // Probes come from the node, whose address nobody knows here.
          { ports: [{ port: operatorPorts.readiness, protocol: 'TCP' }] },
        ],
      },
    },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata,
      // Proxies go to the pod itself: no address of the Service's own is needed.
      spec: {
        clusterIP: 'None',
        selector,
        ports: [{ name: 'mcp', port: mcpPodPort, targetPort: mcpPodPort, protocol: 'TCP' }],
      },
    },
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata,
      spec: {
        replicas: 1,
        selector: { matchLabels: selector },
        // Sessions live in it: beside another one, requests of a session would come to the wrong one.
        strategy: { type: 'Recreate' },
        template: { metadata: { labels }, spec },
      },
    },
  ];
}
