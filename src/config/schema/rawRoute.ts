import { z } from 'zod';
import { backendAddresses, rawBackendPolicies } from './backendPolicies.ts';
import {
  backendName,
  fields,
  hostname,
  objectName,
  oneOf,
  plainHostAndPort,
  rawBackendTls,
} from '../../schema/index.ts';
import { gatewayRefs, weight } from './route.ts';

const host = plainHostAndPort.optional().describe('A server, as name:port.');

const addresses = backendAddresses
  .optional()
  .describe('Where `host` is served, when not at the addresses that its name has.');

const needsHost = <Schema extends z.ZodType<{ host?: unknown; addresses?: unknown }>>(
  schema: Schema,
): Schema =>
  schema.superRefine(({ host: given, addresses: list }, context) => {
    if (list !== undefined && given === undefined)
      context.addIssue({
        code: 'custom',
        path: ['addresses'],
        message: 'belongs to `host`, which is missing',
      });
  });

const tcpBackend = needsHost(
  oneOf(
    fields(
      {
        host,
        addresses,
        backend: backendName.optional().describe('Name of an entry of the top-level `backends`.'),
        weight: weight('connections'),
        policies: rawBackendPolicies.optional().describe('How connections to this backend are made.'),
      },
      ['service', 'dynamic'],
    ),
    ['host', 'backend'],
  ),
);

const name = objectName
  .optional()
  .describe('Names the route in logs, metrics and explain; route0, route1, … by default.');

const tcpFields = {
  name,
  hostnames: z
    .array(hostname)
    .optional()
    .describe(
      'Server names of TLS that it serves, *.example.com for all below; all of the listener by default. A connection without TLS has none.',
    ),
  policies: fields({
    backendTLS: rawBackendTls.optional().describe('Encrypt connections to all backends of the route.'),
  })
    .optional()
    .describe('What holds for all backends of the route.'),
  backends: z
    .array(tcpBackend)
    .optional()
    .describe('Where connections go, in proportion to the weights; without any they are closed.'),
};
const tcpUnbuilt = ['namespace', 'ruleName'];

const gateways = gatewayRefs
  .optional()
  .describe('Gateways, as name or name/listener, that serve the route; the gateway `default` by default.');

export const tcpRoute = fields(tcpFields, tcpUnbuilt);
export const attachedTcpRoute = fields({ gateways, ...tcpFields }, tcpUnbuilt);

const udpBackend = needsHost(oneOf(fields({ host, addresses, weight: weight('clients') }), ['host']));

const udpFields = {
  name,
  backends: z
    .array(udpBackend)
    .optional()
    .describe('Where datagrams go, in proportion to the weights; those of one client stay together.'),
};

export const udpRoute = fields(udpFields);
export const attachedUdpRoute = fields({ gateways, ...udpFields });

export type TcpRouteSettings = z.output<typeof tcpRoute>;
export type TcpBackendSettings = z.output<typeof tcpBackend>;
export type UdpRouteSettings = z.output<typeof udpRoute>;
export type UdpBackendSettings = z.output<typeof udpBackend>;
