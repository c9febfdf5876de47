import type { z } from 'zod';

/** The kind of routes of a listener, by the field that names them. */
const routesOf = {
  HTTP: 'routes',
  HTTPS: 'routes',
  TLS: 'tcpRoutes',
  TCP: 'tcpRoutes',
  UDP: 'udpRoutes',
} as const;

const routeFields = ['routes', 'tcpRoutes', 'udpRoutes'] as const;

interface Given {
  readonly protocol?: keyof typeof routesOf | undefined;
  readonly tls?: object | undefined;
  readonly hostname?: string | undefined;
  readonly routes?: readonly unknown[] | undefined;
  readonly tcpRoutes?: readonly unknown[] | undefined;
  readonly udpRoutes?: readonly unknown[] | undefined;
}

/** Adds the rules by which protocol, TLS and routes of a listener or gateway go together. */
export function consistent<Schema extends z.ZodType<Given>>(
  schema: Schema,
  httpPolicies: readonly string[],
): Schema {
  return schema.superRefine((given, context) => {
    const { protocol, tls, hostname } = given;
    const issue = (path: (string | number)[], message: string): void =>
      context.addIssue({ code: 'custom', path, message });
    const spoken = protocol ?? (tls === undefined ? 'HTTP' : 'HTTPS');
    if (spoken === 'HTTPS' && tls === undefined) issue(['protocol'], 'HTTPS needs `tls` beside it');
    if (spoken === 'HTTP' && tls !== undefined)
      issue(['protocol'], 'expected HTTPS, or TLS for tcpRoutes, since `tls` is given');
    if ((spoken === 'TCP' || spoken === 'UDP') && tls !== undefined)
      issue(['tls'], `a ${spoken} listener knows no TLS; with protocol TLS it ends here`);
    if ((spoken === 'TCP' || spoken === 'UDP') && hostname !== undefined && hostname !== '*')
      issue(['hostname'], `a ${spoken} listener sees no host name`);
    for (const field of routeFields)
      if (given[field] !== undefined && field !== routesOf[spoken])
        issue([field], `a listener of protocol ${spoken} serves ${routesOf[spoken]}`);
    if (routesOf[spoken] === 'routes') return;
    for (const policy of httpPolicies)
      if ((given as Record<string, unknown>)[policy] !== undefined)
        issue([policy], `is about HTTP; a ${spoken} listener does not read it`);
  });
}
