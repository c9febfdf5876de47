import type { Identity } from '../../../src/proxy/certificates.testing.ts';
import type { KubeApi } from '../../../src/controller/api/api.ts';
import type { KubeObject } from '../../../src/controller/api/object.ts';
import { create, each } from './api.ts';
import {
  appService,
  appSlice,
  gateway,
  gatewayClass,
  mcpBackend,
  namespace,
  policy,
  route,
  secret,
  service,
} from './objects.ts';
import type { Shape } from './shape.ts';

const list = (count: number, make: (index: number) => KubeObject): KubeObject[] =>
  Array.from({ length: count }, (_, index) => make(index));

/** Makes all objects of a shape. @param ports of the listeners of every Gateway: plain and TLS */
export async function populate(
  api: KubeApi,
  shape: Shape,
  { ports, identity }: { readonly ports: readonly [number, number]; readonly identity: Identity },
): Promise<void> {
  await create(api, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
  await each(
    [
      gatewayClass,
      // By which the proxies find the controller.
      service('portcullis-controller'),
      ...list(shape.gateways, (index) => secret(index, identity)),
      ...list(shape.gateways, (index) => gateway(index, shape, ports)),
      ...list(shape.services, appService),
      ...list(shape.services, (index) => appSlice(index, shape)),
      ...list(shape.gateways * shape.routesEach, (index) => route(index, shape)),
      ...list(shape.mcpBackends, (index) => mcpBackend(index, shape)),
      ...list(shape.policies, (index) => policy(index, shape)),
    ],
    16,
    async (object) => await create(api, object),
  );
}
