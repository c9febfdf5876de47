import { z } from 'zod';
import { parseDuration } from '../../model/index.ts';
import { crdRules, podResources } from '../../schema/index.ts';
import { hostName, insideName, isExternal } from './mcpHost.ts';

/**
 * The `spec` of an McpBackend. The CRD is made of it (`npm run generate`), so what is wrong is refused when it is
 * written; the same schema looks at it again here.
 */

/** Entries of one name would hide each other; the server keeps them apart, and merges lists by them. */
const byName = { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] };
const differ = (entries: readonly { readonly name: string }[]): boolean =>
  new Set(entries.map(({ name }) => name)).size === entries.length;

const objectName = z.string().min(1).max(253);
// No operating system takes a NUL.
const text = (most: number): z.ZodString =>
  z
    .string()
    .max(most)
    .regex(/^[^\x00]*$/);
const port = z.int().min(1).max(65_535);
const path = z
  .string()
  .max(1_024)
  // Visible ASCII: heads are written one byte a character, so others could turn into a line break.
  .regex(/^\/[!-"$->@-~]*$/)
  .optional()
  .describe('/mcp unless given.');

const variable = z
  .strictObject({
    name: z
      .string()
      .min(1)
      .max(253)
      .regex(/^[A-Za-z_][A-Za-z0-9_]*$/),
    value: text(32_768).optional(),
    valueFrom: z
      .strictObject({
        secretKeyRef: z
          .strictObject({ name: objectName, key: z.string().min(1).max(253) })
          .describe(
            'A Secret of the same namespace, with the label portcullis.dev/use: mcp-env; others are not read.',
          ),
      })
      .optional(),
  })
  .refine(
    ({ value, valueFrom }) => (value === undefined) !== (valueFrom === undefined),
    'either value or valueFrom is needed',
  )
  .meta(
    crdRules({
      rule: 'has(self.value) != has(self.valueFrom)',
      message: 'either value or valueFrom is needed',
    }),
  );

const noTime = 'a length of time above zero is needed';

const ofPods = 'image and resources go with placement Pod only';

const stdio = z
  .strictObject({
    command: text(4_096).min(1).describe('Program to start, found along PATH of the image that it runs in.'),
    args: z.array(text(32_768)).max(256).optional().describe('Its arguments; no shell reads them.'),
    env: z
      .array(variable)
      .max(256)
      .refine(differ, 'a variable is set once')
      .meta(byName)
      .optional()
      .describe('Environment variables to add or replace.'),
    cwd: text(4_096).min(1).optional().describe('Working directory; that of the proxy unless given.'),
    startTimeout: z
      .string()
      .max(24)
      .regex(/^([0-9]{1,4}(m|s|ms)){1,3}$/)
      .refine((given) => (parseDuration(given) ?? 0) > 0, noTime)
      .meta(crdRules({ rule: "!self.matches('^(0+(m|s|ms))+$')", message: noTime }))
      .optional()
      .describe('From the start of the program to its answer to initialize; 60s unless given.'),
    resume: z
      .boolean()
      .optional()
      .describe(
        'Start the program again for a session whose child was taken to make room for others. True unless given; false: the session ends.',
      ),
    placement: z
      .enum(['Proxy', 'Pod'])
      .optional()
      .describe(
        'Where it runs: in the pods of the Gateway, or in one of its own in the namespace of the McpBackend. Proxy unless given.',
      ),
    image: z
      .string()
      .min(1)
      .max(1_024)
      .optional()
      .describe(
        'Of its own pod: the image of the gateway, and the program in it. That of the controller unless given.',
      ),
    resources: podResources.optional().describe('Of its own pod, instead of the usual ones.'),
  })
  .refine(
    ({ placement, image, resources }) =>
      placement === 'Pod' || (image === undefined && resources === undefined),
    ofPods,
  )
  .meta(
    crdRules({
      rule: "(has(self.placement) && self.placement == 'Pod') || !(has(self.image) || has(self.resources))",
      message: ofPods,
    }),
  )
  .describe(
    'A program that speaks over stdin and stdout, started for each session in the pods of the Gateway, or in one of its own. PortcullisParameters of the Gateway have to allow it (spec.mcp.stdio, spec.mcp.pods).',
  );

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

const oneWay = 'exactly one of stdio, service and host is needed';

const target = z
  .strictObject({
    name: z
      .string()
      .min(1)
      .max(64)
      .regex(/^[A-Za-z0-9][A-Za-z0-9._-]*$/)
      .describe('Names the target in logs and, where names are prefixed, in the names of its tools.'),
    stdio: stdio.optional(),
    service: service.optional(),
    host: host.optional(),
  })
  .refine((one) => [one.stdio, one.service, one.host].filter((way) => way !== undefined).length === 1, oneWay)
  .meta(
    crdRules({
      rule: '[has(self.stdio), has(self.service), has(self.host)].filter(x, x).size() == 1',
      message: oneWay,
    }),
  );

const oneTarget = 'exactly one target: several are not served yet, they come with federation';

export const mcpBackendSchema = z.strictObject({
  targets: z
    .array(target)
    .min(1)
    .max(16)
    .refine((targets) => targets.length === 1, oneTarget)
    .meta({ ...crdRules({ rule: 'self.size() == 1', message: oneTarget }), ...byName })
    .describe('The MCP server to serve; exactly one in this version.'),
});

export type McpBackendSpec = z.output<typeof mcpBackendSchema>;
export type McpTargetSpec = McpBackendSpec['targets'][number];
