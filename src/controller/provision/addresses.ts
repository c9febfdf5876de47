import type { KubeObject } from '../api/object.ts';
import type { Gateway, GatewayAddress } from '../types/index.ts';

/** Addresses that a Gateway asks for by value; one without a value is any. */
export const requestedAddresses = ({ spec }: Gateway): readonly Required<GatewayAddress>[] =>
  (spec.addresses ?? []).flatMap(({ type = 'IPAddress', value = '' }) =>
    value === '' ? [] : [{ type, value }],
  );

interface ServiceView {
  readonly spec?: { readonly type?: string; readonly clusterIPs?: readonly string[] };
  readonly status?: {
    readonly loadBalancer?: {
      readonly ingress?: readonly { readonly ip?: string; readonly hostname?: string }[];
    };
  };
}

/** The addresses of a Service: from outside those of its load balancer, else its cluster addresses. */
export function addressesOf(service: KubeObject): readonly Required<GatewayAddress>[] {
  const { spec, status } = service as ServiceView & KubeObject;
  if (spec?.type === 'LoadBalancer')
    return (status?.loadBalancer?.ingress ?? []).flatMap(({ ip, hostname }) => {
      if (ip !== undefined && ip !== '') return [{ type: 'IPAddress', value: ip }];
      return hostname === undefined || hostname === '' ? [] : [{ type: 'Hostname', value: hostname }];
    });
  return (spec?.clusterIPs ?? []).flatMap((value) =>
    value === '' || value === 'None' ? [] : [{ type: 'IPAddress', value }],
  );
}
