/** A resource of the API: the place of its objects. */
export interface Resource {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  /** Name in paths: `httproutes`. */
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: boolean;
}

export interface Place {
  readonly namespace?: string | undefined;
  readonly name?: string;
  readonly subresource?: 'status';
}

export const apiVersionOf = ({ group, version }: Resource): string =>
  group === '' ? version : `${group}/${version}`;

/** Unambiguous name for logs and metrics: `httproutes.gateway.networking.k8s.io`. */
export const resourceName = ({ group, plural }: Resource): string =>
  group === '' ? plural : `${plural}.${group}`;

/** Path of a list (no name) or of one object. Namespaces and names are escaped: they may come from objects. */
export function pathOf(resource: Resource, { namespace, name, subresource }: Place = {}): string {
  const root = resource.group === '' ? '/api' : '/apis';
  const parts = [
    apiVersionOf(resource),
    ...(resource.namespaced && namespace !== undefined ? ['namespaces', encodeURIComponent(namespace)] : []),
    resource.plural,
    ...(name === undefined ? [] : [encodeURIComponent(name)]),
    ...(subresource === undefined ? [] : [subresource]),
  ];
  return `${root}/${parts.join('/')}`;
}
