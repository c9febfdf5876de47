import { isIP } from 'node:net';
import { z } from 'zod';
import type { BackendTls, McpTarget, NetworkTarget } from '../../../model/index.ts';
import { crdRules } from '../../../schema/index.ts';
import { objectName } from './clusterFields.ts';
import { clusterForm, type ClusterRight, type ClusterTools, type Made } from './clusterTarget.ts';
import type { ConnectionSettings } from './connectionSettings.ts';
import { hostName, insideName, isExternal } from './outsideHost.ts';

const port = z.int().min(1).max(65_535);
/** The path of an endpoint. Visible ASCII: heads are written one byte a character, so others could turn into a line break. */
export const endpointPath = z
  .string()
  .max(1_024)
  .regex(/^\/[!-"$->@-~]*$/);

/** The words of the fields of a server. */
interface Words {
  /** The server and its protocol, as the object of a sentence. */
  readonly server: string;
  /** The path that is taken where none is written. */
  readonly usualPath: string;
}

/** The forms of a kind whose servers are reached over the network. */
export interface RemoteForm<Field extends string, Target extends NetworkTarget> {
  readonly field: Field;
  /** The path of the endpoint of a server where none is written. */
  readonly usualPath: string;
  /** The transport, for descriptions. */
  readonly transport: string;
  readonly make: (target: NetworkTarget) => Target;
}

/** The fields that name the port of a Service. */
export const serviceFields = {
  name: objectName,
  namespace: z
    .string()
    .min(1)
    .max(63)
    .optional()
    .describe('That of the McpBackend unless given; another one takes a ReferenceGrant.'),
  port,
};

/** A server behind a Service. */
export const service = ({ server, usualPath }: Words) =>
  z
    .strictObject({ ...serviceFields, path: endpointPath.optional().describe(`${usualPath} unless given.`) })
    .describe(`${server} behind a Service.`);

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

/** A server outside the cluster. */
export const host = ({ server, usualPath }: Words) =>
  z
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
      path: endpointPath.optional().describe(`${usualPath} unless given.`),
      tls: tls.optional(),
    })
    .describe(
      `${server} outside the cluster. PortcullisParameters of the Gateway have to allow it (spec.mcp.hosts).`,
    );

/** The right to name hosts outside the cluster, for every kind of target. */
export const hostsRight: ClusterRight = {
  name: 'hosts',
  description:
    'Namespaces whose McpBackends may name hosts outside the cluster: none, that of the Gateway, or all. None unless given.',
  lacking: 'HostNotAllowed',
};

/** A server behind a Service. */
export const serviceInCluster = <const Field extends string, Target extends McpTarget & NetworkTarget>(
  form: RemoteForm<Field, Target>,
) =>
  clusterForm({
    field: form.field,
    schema: service(wordsOf(form)),
    build: (name, { path = form.usualPath, ...reference }, tools): Made<Target> => {
      const found = tools.service(reference);
      return 'why' in found ? found : form.make({ name, path, ...found });
    },
  });

/** A server outside the cluster. */
export const hostInCluster = <const Field extends string, Target extends McpTarget & NetworkTarget>(
  form: RemoteForm<Field, Target>,
) =>
  clusterForm({
    field: form.field,
    schema: host(wordsOf(form)),
    right: hostsRight,
    build: (name, { path = form.usualPath, ...outside }, tools): Made<Target> => {
      const found = hostConnection(outside, tools);
      return 'why' in found ? found : form.make({ name, path, ...found });
    },
  });

type WrittenHost = z.output<ReturnType<typeof host>>;

/** The connections to a host outside the cluster. */
export function hostConnection(
  { host: at, port: number, tls: wanted }: Omit<WrittenHost, 'path'>,
  tools: ClusterTools,
): Made<ConnectionSettings> {
  const secure = wanted === undefined ? undefined : tlsOf(wanted, tools);
  if (secure !== undefined && 'why' in secure) return secure;
  return {
    host: at,
    port: number,
    // With its dot a name is whole: the search domains of a pod would make the Service b of namespace c out of b.c.
    ...(isIP(at) === 0 ? { addresses: [{ host: `${at}.`, port: number }] } : {}),
    ...(secure === undefined ? {} : { tls: secure }),
  };
}

const wordsOf = ({
  usualPath,
  transport,
}: Pick<RemoteForm<string, never>, 'usualPath' | 'transport'>): Words => ({
  server: `An MCP server that speaks ${transport},`,
  usualPath,
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
