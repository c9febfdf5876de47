import { z } from 'zod';
import { choice, fields } from './fields.ts';
import { mcpFields } from './mcp.ts';
import { inlinePolicies, inlinePoliciesUnbuilt, listenerPolicies, mcpPolicies } from './policies.ts';
import { frontendSchema, processSchema } from './process.ts';
import { attachedRoute, gatewayRefs, namedBackend, route } from './route.ts';
import { serverTls } from './serverTls.ts';
import { bindAddress, hostname, listenPort, objectName } from './scalars.ts';

const listenerHost = hostname
  .optional()
  .describe('Host name it serves, *.example.com for all below; every host by default.');
const address = bindAddress
  .optional()
  .describe(
    'The only address the port is open on, such as 127.0.0.1; by default every address of the machine.',
  );
const protocolHelp = 'HTTP, or HTTPS with `tls`; by default what `tls` says.';
const tls = serverTls.optional().describe('Speak TLS, with this certificate.');

/** TLS and the protocol say the same, or one of them says nothing. */
const agreeing = <Schema extends z.ZodType<{ protocol?: string | undefined; tls?: object | undefined }>>(
  schema: Schema,
): Schema =>
  schema.superRefine(({ protocol, tls: given }, context) => {
    if (protocol === 'HTTPS' && given === undefined)
      context.addIssue({ code: 'custom', path: ['protocol'], message: 'HTTPS needs `tls` beside it' });
    if (protocol === 'HTTP' && given !== undefined)
      context.addIssue({
        code: 'custom',
        path: ['protocol'],
        message: 'expected HTTPS, since `tls` is given',
      });
  });

const listener = agreeing(
  fields(
    {
      name: objectName
        .optional()
        .describe('Names the listener in logs and metrics; listener0, listener1, … by default.'),
      hostname: listenerHost,
      protocol: choice(['HTTP', 'HTTPS'], ['TLS', 'TCP', 'HBONE']).optional().describe(protocolHelp),
      tls,
      routes: z.array(route).optional().describe('Routes of this listener.'),
      policies: listenerPolicies.optional().describe('What is checked before a route is chosen.'),
    },
    ['namespace', 'tcpRoutes'],
  ),
);

const bind = fields({
  port: listenPort.describe('Port to listen on; 0 lets the system choose one.'),
  address,
  listeners: z.array(listener).describe('What is served on the port, by host name.'),
  tunnelProtocol: choice(['direct'], ['hboneWaypoint', 'hboneGateway', 'proxy', 'connect'])
    .optional()
    .describe('How clients reach the port: direct, the default.'),
  mode: choice(['standard'], ['internal'])
    .optional()
    .describe('standard, the default: a port of the system.'),
});

const gatewayProtocol = choice(['HTTP', 'HTTPS'], ['TCP', 'TLS']).optional().describe(protocolHelp);

const gatewayListener = agreeing(
  fields(
    {
      name: objectName.optional().describe('What routes refer to as gateway/listener.'),
      hostname: listenerHost,
      protocol: gatewayProtocol,
      tls,
      ...inlinePolicies,
    },
    inlinePoliciesUnbuilt,
  ),
);

const gateway = agreeing(
  fields(
    {
      port: listenPort.describe('Port to listen on; 0 lets the system choose one.'),
      address,
      listeners: z
        .array(gatewayListener)
        .min(1, {
          error: 'expected at least one listener; leave the field out for a gateway without host names',
        })
        .optional()
        .describe('What is served on the port, by host name; beside it only `port` and `address` may stand.'),
      protocol: gatewayProtocol,
      tls,
      ...inlinePolicies,
    },
    inlinePoliciesUnbuilt,
  ),
);

const simpleMcp = fields({
  gateways: gatewayRefs.optional().describe('Gateways that serve it; the gateway `default` by default.'),
  port: listenPort.optional().describe('A port of its own instead of a gateway.'),
  ...mcpFields,
  policies: mcpPolicies.optional().describe('What is checked and changed on the way.'),
});

/** The whole file. */
export const documentSchema = fields(
  {
    config: processSchema.optional().describe('Settings of the process.'),
    frontendPolicies: frontendSchema.optional().describe('What holds for all client connections.'),
    binds: z.array(bind).optional().describe('Ports with everything that is served on them.'),
    gateways: z
      .record(objectName, gateway)
      .optional()
      .describe('Ports by name; `routes` and `mcp` attach to them.'),
    routes: z.array(attachedRoute).optional().describe('Routes that attach to gateways.'),
    mcp: simpleMcp.optional().describe('MCP servers, served at /mcp and /sse.'),
    backends: z.array(namedBackend).optional().describe('Backends that several routes can refer to by name.'),
  },
  ['policies', 'workloads', 'services', 'routeGroups', 'tcpRoutes', 'llm', 'ui'],
).describe('Configuration of Portcullis.');

export type DocumentSettings = z.output<typeof documentSchema>;
export type BindSettings = NonNullable<DocumentSettings['binds']>[number];
export type GatewaySettings = NonNullable<DocumentSettings['gateways']>[string];
