import type { KubeApi } from '../../../src/controller/api/api.ts';
import { patchTypes } from '../../../src/controller/api/api.ts';
import type { KubeObject } from '../../../src/controller/api/object.ts';
import { pathOf, type Resource } from '../../../src/controller/api/resource.ts';

const plurals: Readonly<Record<string, string>> = {
  GatewayClass: 'gatewayclasses',
  EndpointSlice: 'endpointslices',
  GatewayPolicy: 'gatewaypolicies',
};

const resourceOf = ({ apiVersion, kind }: KubeObject): Resource => {
  const [group, version] = apiVersion.includes('/') ? apiVersion.split('/') : ['', apiVersion];
  return {
    group: group ?? '',
    version: version ?? '',
    plural: plurals[kind] ?? `${kind.toLowerCase()}s`,
    kind,
    namespaced: kind !== 'GatewayClass' && kind !== 'Namespace',
  };
};

/** Makes an object that is not there yet. */
export const create = async (api: KubeApi, object: KubeObject): Promise<void> => {
  const { namespace } = object.metadata;
  await api.request({ method: 'POST', path: pathOf(resourceOf(object), { namespace }), body: object });
};

/** Makes it be so, as whoever administers the cluster. */
export const apply = async (api: KubeApi, object: KubeObject): Promise<void> => {
  const { namespace, name } = object.metadata;
  await api.request({
    method: 'PATCH',
    path: pathOf(resourceOf(object), { namespace, name }),
    query: { fieldManager: 'scale', force: true },
    contentType: patchTypes.apply,
    body: object,
  });
};

/** Works through a list, some at once. */
export async function each<Item>(
  items: readonly Item[],
  atOnce: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const rest = items.values();
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (const item of rest) await work(item);
    }),
  );
}
