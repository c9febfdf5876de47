import { z } from 'zod';
import { bindAddress, choice, fields, hostname, listenPort, objectName } from '../../schema/index.ts';
import { mcpFields } from './mcp.ts';
import { consistent } from './listenerRules.ts';
import { inlinePolicies, inlinePoliciesUnbuilt, listenerPolicies, routePolicies } from './policies.ts';
import { frontendSchema, processSchema } from './process.ts';
import { proxyProtocol } from './proxyProtocol.ts';
import { attachedTcpRoute, attachedUdpRoute, tcpRoute, udpRoute } from './rawRoute.ts';
import { attachedRoute, gatewayRefs, namedBackend, route } from './route.ts';
import { serverTls } from './serverTls.ts';
import { ui } from './ui.ts';

const listenerHost = hostname
  .optional()
  .describe('Host name it serves, *.example.com for all below; every host by default.');
const address = bindAddress
  .optional()
  .describe(
    'The only address the port is open on, such as 127.0.0.1; by default every address of the machine.',
  );
const protocolHelp =
  'HTTP, HTTPS, TLS (told apart by server name; it ends here with `tls`), TCP or UDP; by default HTTP, or HTTPS with `tls`.';
const protocols = ['HTTP', 'HTTPS', 'TLS', 'TCP', 'UDP'] as const;
const proxied = proxyProtocol
  .optional()
  .describe('Connections begin with a header of the PROXY protocol, which says who the client is.');
const tls = serverTls.optional().describe('Speak TLS, with this certificate.');

const listener = consistent(
  fields(
    {
      name: objectName
        .optional()
        .describe('Names the listener in logs and metrics; listener0, listener1, … by default.'),
      hostname: listenerHost,
      protocol: choice(protocols, ['HBONE']).optional().describe(protocolHelp),
      tls,
      routes: z.array(route).optional().describe('Routes of this listener, for HTTP and HTTPS.'),
      tcpRoutes: z.array(tcpRoute).optional().describe('Routes of this listener, for TLS and TCP.'),
      udpRoutes: z.array(udpRoute).optional().describe('Routes of this listener, for UDP.'),
      policies: listenerPolicies
        .optional()
        .describe('What is checked before the policies of a route, and where no route matches.'),
    },
    ['namespace'],
  ),
  ['policies'],
);

const bind = fields({
  port: listenPort.describe('Port to listen on; 0 lets the system choose one.'),
  address,
  listeners: z.array(listener).describe('What is served on the port, by host name.'),
  proxyProtocol: proxied,
  tunnelProtocol: choice(['direct', 'proxy'], ['hboneWaypoint', 'hboneGateway', 'connect'])
    .optional()
    .describe('How clients reach the port: direct, the default, or proxy for `proxyProtocol: {}`.'),
  mode: choice(['standard'], ['internal'])
    .optional()
    .describe('standard, the default: a port of the system.'),
});

const gatewayProtocol = choice(protocols).optional().describe(protocolHelp);

const gatewayListener = consistent(
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
  Object.keys(inlinePolicies),
);

const gateway = consistent(
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
        .describe(
          'What is served on the port, by host name; beside it only `port`, `address` and `proxyProtocol` may stand.',
        ),
      proxyProtocol: proxied,
      protocol: gatewayProtocol,
      tls,
      ...inlinePolicies,
    },
    inlinePoliciesUnbuilt,
  ),
  Object.keys(inlinePolicies),
);

/** The fields that a gateway with `listeners` leaves to its listeners; the schema refuses those that are not built. */
export const listenerFields: readonly string[] = Object.keys(gatewayListener.shape).filter(
  (name) => Object.hasOwn(gateway.shape, name) && !inlinePoliciesUnbuilt.includes(name),
);

const simpleMcp = fields({
  gateways: gatewayRefs.optional().describe('Gateways that serve it; the gateway `default` by default.'),
  port: listenPort
    .optional()
    .describe('A port of its own instead of a gateway; 3000 by default where the file has no `gateways`.'),
  ...mcpFields,
  policies: routePolicies.optional().describe('What is checked and changed on the way.'),
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
    tcpRoutes: z
      .array(attachedTcpRoute)
      .optional()
      .describe('Routes that attach to gateways of protocol TLS and TCP.'),
    udpRoutes: z
      .array(attachedUdpRoute)
      .optional()
      .describe('Routes that attach to gateways of protocol UDP.'),
    mcp: simpleMcp.optional().describe('MCP servers, served at /mcp over Streamable HTTP.'),
    ui: ui
      .optional()
      .describe('The console. It is on the admin port, and on the gateways that are named here.'),
    backends: z.array(namedBackend).optional().describe('Backends that several routes can refer to by name.'),
  },
  ['policies', 'workloads', 'services', 'routeGroups', 'llm'],
).describe('Configuration of Portcullis.');

export type DocumentSettings = z.output<typeof documentSchema>;
export type BindSettings = NonNullable<DocumentSettings['binds']>[number];
export type GatewaySettings = NonNullable<DocumentSettings['gateways']>[string];
