import { isIP } from 'node:net';
import { z } from 'zod';
import type { BackendTls, RemoteTarget } from '../../../model/index.ts';
import { crdRules } from '../../../schema/index.ts';
import { objectName } from '../kind/clusterFields.ts';
import { clusterForm, type ClusterTools, type Made } from '../kind/clusterTarget.ts';
import { hostName, insideName, isExternal } from './outsideHost.ts';
import { usualPath } from './remoteServer.ts';

const port = z.int().min(1).max(65_535);
const path = z
  .string()
  .max(1_024)
  // Visible ASCII: heads are written one byte a character, so others could turn into a line break.
  .regex(/^\/[!-"$->@-~]*$/)
  .optional()
  .describe('/mcp unless given.');

const service = z
  .strictObject({
    name: objectName,
    namespace: z
      .string()
      .min(1)
      .max(63)
      .optional()
      .describe('That of the McpBackend unless given; another one takes a ReferenceGrant.'),
    port,
    path,
  })
  .describe('An MCP server behind a Service, which speaks Streamable HTTP.');

const notExternal =
  'an address outside is needed, or a name with a dot: no loopback, link-local or multicast address; Services of the cluster are targets of their own';

const matches = ({ source }: RegExp): string => `self.matches(r'${source}')`;

const tls = z
  .strictObject({
    hostname: z
      .string()
      .min(1)
      .max(253)
      .optional()
      .describe('Name to ask for and to find in the certificate; the host unless given.'),
    caCertificateRefs: z
      .array(z.strictObject({ name: objectName }))
      .min(1)
      .max(8)
      .optional()
      .describe('ConfigMaps of the same namespace with ca.crt; the authorities of the system unless given.'),
  })
  .describe('Connections are encrypted, and the certificate is checked.');

const host = z
  .strictObject({
    host: z
      .string()
      .min(1)
      .max(253)
      .refine(isExternal, notExternal)
      .meta(
        crdRules({
          rule: `isIP(self) ? ip(self).isGlobalUnicast() : (${matches(hostName)} && !${matches(insideName)})`,
          message: notExternal,
        }),
      )
      .describe('A name or an address outside the cluster.'),
    port,
    path,
    tls: tls.optional(),
  })
  .describe(
    'An MCP server outside the cluster, which speaks Streamable HTTP. PortcullisParameters of the Gateway have to allow it (spec.mcp.hosts).',
  );

/** A server behind a Service. */
const serviceInCluster = clusterForm({
  field: 'service',
  schema: service,
  build: (name, { path: written = usualPath, ...reference }, tools): Made<RemoteTarget> => {
    const found = tools.service(reference);
    return 'why' in found ? found : { kind: 'http', name, path: written, ...found };
  },
});

/** A server outside the cluster. */
const hostInCluster = clusterForm({
  field: 'host',
  schema: host,
  right: {
    name: 'hosts',
    description:
      'Namespaces whose McpBackends may name hosts outside the cluster: none, that of the Gateway, or all. None unless given.',
    lacking: 'HostNotAllowed',
  },
  build: (
    name,
    { host: at, port: number, path: written = usualPath, tls: wanted },
    tools,
  ): Made<RemoteTarget> => {
    const secure = wanted === undefined ? undefined : tlsOf(wanted, tools);
    if (secure !== undefined && 'why' in secure) return secure;
    return {
      kind: 'http',
      name,
      host: at,
      port: number,
      path: written,
      // With its dot a name is whole: the search domains of a pod would make the Service b of namespace c out of b.c.
      ...(isIP(at) === 0 ? { addresses: [{ host: `${at}.`, port: number }] } : {}),
      ...(secure === undefined ? {} : { tls: secure }),
    };
  },
});

function tlsOf(
  { hostname, caCertificateRefs = [] }: z.output<typeof tls>,
  tools: ClusterTools,
): Made<BackendTls> {
  const found = tools.authorities(caCertificateRefs);
  if ('why' in found) return found;
  return {
    ...(hostname === undefined ? {} : { hostname }),
    ...(found.texts.length === 0 ? {} : { root: { inline: found.texts.join('\n') } }),
    insecure: false,
    insecureHost: false,
    subjectAltNames: [],
  };
}

export const httpInCluster = [serviceInCluster, hostInCluster] as const;
