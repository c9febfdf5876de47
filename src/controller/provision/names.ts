import { hash } from 'node:crypto';
import type { ObjectMeta } from '../api/object.ts';

/** Labels that the Gateway API asks for (GEP-1762). */
const gatewayNameLabel = 'gateway.networking.k8s.io/gateway-name';
const gatewayClassLabel = 'gateway.networking.k8s.io/gateway-class-name';
/** The owner of an object, where several installations share a cluster: the `controllerName`. */
export const controllerAnnotation = 'portcullis.dev/controller-name';

/** The installation that made it last, by the address of its controller. */
export const installationAnnotation = 'portcullis.dev/installation';

const longestLabel = 63;

/**
 * The name of a Gateway's objects: that of the Gateway itself, so that `deployment/NAME` is found without
 * looking. Names of Gateways may be longer, and have dots; those of Services may not (RFC 1035 labels).
 */
export function proxyName(gateway: string): string {
  if (gateway.length <= longestLabel && /^[a-z](?:[-a-z0-9]*[a-z0-9])?$/.test(gateway)) return gateway;
  // Two names that look alike without their dots must not be the same.
  const readable = gateway.replaceAll('.', '-').slice(0, 48);
  return `gw-${readable}-${hash('sha256', gateway, 'hex').slice(0, 10)}`;
}

const asLabel = (name: string): string => (name.length <= longestLabel ? name : proxyName(name));

/** Tells the pods of a Gateway from all others of its namespace. It never changes: a Deployment's selector cannot. */
export const selectorOf = (gateway: string): Readonly<Record<string, string>> => ({
  [gatewayNameLabel]: asLabel(gateway),
  'app.kubernetes.io/managed-by': 'portcullis',
});

/** Labels of everything that belongs to a Gateway. */
export const labelsOf = (gateway: string, gatewayClass: string): Readonly<Record<string, string>> => ({
  ...selectorOf(gateway),
  [gatewayClassLabel]: asLabel(gatewayClass),
  'app.kubernetes.io/name': 'portcullis',
  'app.kubernetes.io/component': 'proxy',
  'app.kubernetes.io/instance': asLabel(gateway),
});

/** Was it made by this installation? */
export const isMadeBy = (controllerName: string, { annotations }: ObjectMeta): boolean =>
  annotations?.[controllerAnnotation] === controllerName;

/** Was what is there made by another installation than the one that wants it? */
export function isOfAnother(present: { metadata: ObjectMeta }, wanted: { metadata: ObjectMeta }): boolean {
  const [other, own] = [present, wanted].map(
    ({ metadata }) => metadata.annotations?.[installationAnnotation],
  );
  return other !== undefined && other !== own;
}
