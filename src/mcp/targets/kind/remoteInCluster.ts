import { isIP } from 'node:net';
import { z } from 'zod';
import type { BackendTls, McpTarget, NetworkTarget } from '../../../model/index.ts';
import { crdRules } from '../../../schema/index.ts';
import { objectName } from './clusterFields.ts';
import { clusterForm, type ClusterRight, type ClusterTools, type Made } from './clusterTarget.ts';
import { hostName, insideName, isExternal } from './outsideHost.ts';

const port = z.int().min(1).max(65_535);
const pathOr = (usualPath: string) =>
  z
    .string()
    .max(1_024)
    // Visible ASCII: heads are written one byte a character, so others could turn into a line break.
    .regex(/^\/[!-"$->@-~]*$/)
    .optional()
    .describe(`${usualPath} unless given.`);

/** The forms of a kind whose servers are reached over the network. */
interface RemoteForm<Field extends string, Target extends NetworkTarget> {
  readonly field: Field;
  /** The path of the endpoint of a server where none is written. */
  readonly usualPath: string;
  /** The transport, for descriptions. */
  readonly transport: string;
  readonly make: (target: NetworkTarget) => Target;
}

const service = ({ usualPath, transport }: Pick<RemoteForm<string, never>, 'usualPath' | 'transport'>) =>
  z
    .strictObject({
      name: objectName,
      namespace: z
        .string()
        .min(1)
        .max(63)
        .optional()
        .describe('That of the McpBackend unless given; another one takes a ReferenceGrant.'),
      port,
      path: pathOr(usualPath),
    })
    .describe(`An MCP server behind a Service, which speaks ${transport}.`);

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

const host = ({ usualPath, transport }: Pick<RemoteForm<string, never>, 'usualPath' | 'transport'>) =>
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
      path: pathOr(usualPath),
      tls: tls.optional(),
    })
    .describe(
      `An MCP server outside the cluster, which speaks ${transport}. PortcullisParameters of the Gateway have to allow it (spec.mcp.hosts).`,
    );

/** The right to name hosts outside the cluster, for every kind of target. */
const hostsRight: ClusterRight = {
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
    schema: service(form),
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
    schema: host(form),
    right: hostsRight,
    build: (name, { host: at, port: number, path = form.usualPath, tls: wanted }, tools): Made<Target> => {
      const secure = wanted === undefined ? undefined : tlsOf(wanted, tools);
      if (secure !== undefined && 'why' in secure) return secure;
      return form.make({
        name,
        host: at,
        port: number,
        path,
        // With its dot a name is whole: the search domains of a pod would make the Service b of namespace c out of b.c.
        ...(isIP(at) === 0 ? { addresses: [{ host: `${at}.`, port: number }] } : {}),
        ...(secure === undefined ? {} : { tls: secure }),
      });
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
