import type { KubeObject, ObjectMeta } from '../api/object.ts';
import { podAnnotations } from './annotations.ts';
import { deploymentOf, withItsDrain } from './deployment.ts';
import { controllerAnnotation, installationAnnotation, labelsOf, proxyName } from './names.ts';
import { networkPolicyOf } from './networkPolicy.ts';
import type { ChosenParameters, Overlays } from './parameters.ts';
import { patched } from './patch.ts';
import type { ProxyRequest } from './request.ts';
import { autoscalerOf, disruptionBudgetOf } from './scaling.ts';
import { serviceOf } from './service.ts';

/**
 * The objects that serve a Gateway, in the order in which they are made: what pods need comes before them.
 * A pure function.
 */
export function objectsOf(request: ProxyRequest): readonly KubeObject[] {
  const { gateway, installation, parameters } = request;
  const { namespace = '', name } = gateway.metadata;
  const own = {
    labels: labelsOf(name, gateway.spec.gatewayClassName),
    annotations: {
      [controllerAnnotation]: installation.controllerName,
      [installationAnnotation]: installation.controller,
    },
  };
  const { labels = {}, annotations = {} } = gateway.spec.infrastructure ?? {};
  const allowed = podAnnotations(annotations, parameters.podAnnotationPrefixes);
  // Overlays must not change the labels by which objects are found.
  const metadata: ObjectMeta = {
    name: proxyName(name),
    namespace,
    labels: { ...labels, ...own.labels },
    annotations: { ...allowed, ...own.annotations },
  };
  const podMetadata = { labels: { ...labels, ...own.labels }, annotations: allowed };
  // Load balancers take their orders from here.
  const ofService = { ...metadata, annotations: { ...annotations, ...own.annotations } };
  const made = [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata, automountServiceAccountToken: false },
    { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { 'ca.crt': installation.trust } },
    // Pods are never without it.
    networkPolicyOf(request, metadata),
    deploymentOf(request, metadata, podMetadata),
    serviceOf(request, ofService),
    autoscalerOf(request, metadata),
    disruptionBudgetOf(request, metadata),
  ];
  return made.flatMap((object) => (object === undefined ? [] : [overlaid(object, own, parameters)]));
}

/** The names of overlays by kind; other kinds have none. */
const overlayNames: Readonly<Record<string, keyof Overlays>> = {
  Deployment: 'deployment',
  Service: 'service',
  ServiceAccount: 'serviceAccount',
  NetworkPolicy: 'networkPolicy',
  HorizontalPodAutoscaler: 'horizontalPodAutoscaler',
  PodDisruptionBudget: 'podDisruptionBudget',
};

function overlaid(
  object: KubeObject,
  own: Required<Pick<ObjectMeta, 'labels' | 'annotations'>>,
  { overlays }: ChosenParameters,
): KubeObject {
  const name = overlayNames[object.kind];
  const patches = name === undefined ? [] : overlays.flatMap((one) => one[name] ?? []);
  if (patches.length === 0) return object;
  const result = withItsDrain(patches.reduce<unknown>(patched, object) as KubeObject);
  const { metadata } = result;
  return {
    ...result,
    metadata: {
      ...metadata,
      labels: { ...metadata.labels, ...own.labels },
      annotations: { ...metadata.annotations, ...own.annotations },
    },
  };
}
