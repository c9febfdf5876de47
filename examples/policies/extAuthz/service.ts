/**
 * An authorization service for examples/policies/extAuthz.yaml: customers may read, and each learns its plan.
 * Start it with: node examples/policies/extAuthz/service.ts 4446
 */
import { serveUnary, type UnaryService } from '../../unaryService.ts';

/** The parts of `CheckRequest` that a service reads. */
export interface Check {
  readonly attributes: {
    readonly source: Peer;
    readonly destination: Peer;
    readonly request: {
      readonly time: { readonly seconds: string; readonly nanos: number };
      readonly http: {
        readonly id: string;
        readonly method: string;
        readonly headers: Readonly<Record<string, string>>;
        readonly path: string;
        readonly host: string;
        readonly scheme: string;
        readonly protocol: string;
        readonly size: unknown;
        readonly body: string;
        readonly raw_body: Buffer;
      };
    };
    readonly context_extensions: Readonly<Record<string, string>>;
    readonly metadata_context: { readonly filter_metadata: Readonly<Record<string, Struct>> };
    readonly tls_session?: { readonly sni: string };
  };
}

interface Peer {
  readonly address: { readonly socket_address: { readonly address: string; readonly port_value: number } };
  readonly principal: string;
}

interface Struct {
  readonly fields: Readonly<Record<string, object>>;
}

/** `CheckResponse`. */
export type Decision = object;

/** Serves decisions on loopback. */
export const startAuthorization = (
  port: number,
  decide: (check: Check) => Decision | Promise<Decision>,
): Promise<UnaryService> =>
  serveUnary(
    port,
    {
      proto: new URL('external_auth.proto', import.meta.url),
      name: 'envoy.service.auth.v3.Authorization',
      options: { defaults: true },
    },
    { Check: decide },
  );

const plans: Readonly<Record<string, string>> = { ada: 'gold', bob: 'basic' };

/** Refuses strangers and changes, and tells the app and later rules the plan of a customer. */
export function decideByPlan({ attributes }: Check): Decision {
  const { method, headers } = attributes.request.http;
  const plan = plans[headers['x-customer'] ?? ''];
  if (plan === undefined)
    return refusal(401, 'no such customer\n', [{ header: { key: 'www-authenticate', value: 'Customer' } }]);
  if (method !== 'GET') return refusal(403, 'customers may only read\n');
  return {
    status: { code: 0 },
    ok_response: { headers: [{ header: { key: 'x-plan', value: plan } }] },
    dynamic_metadata: { fields: { plan: { stringValue: plan } } },
  };
}

/** The code is that of PERMISSION_DENIED in gRPC. */
const refusal = (status: number, body: string, headers: readonly object[] = []): Decision => ({
  status: { code: 7 },
  denied_response: { status: { code: status }, headers, body },
});

if (import.meta.main) {
  const { port } = await startAuthorization(Number(process.argv[2] ?? 4446), decideByPlan);
  console.log(`decisions at 127.0.0.1:${String(port)}`);
}
