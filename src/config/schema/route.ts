import { z } from 'zod';
import { messageOf } from '../../errorText.ts';
import {
  backendName,
  fields,
  headerName,
  hostAndPort,
  hostname,
  mayHoldShownSecret,
  method,
  objectName,
  oneOf,
  regex,
} from '../../schema/index.ts';
import { RouteExpressions } from '../../regex/index.ts';
import { backendAddresses, backendPolicies } from './backendPolicies.ts';
import { path } from './path.ts';
import { mcpBackend } from './mcp.ts';
import { policiesOn } from '../../policies/facts.ts';
import { routePolicies } from './policies.ts';

const pathMatch = oneOf(
  fields({
    exact: path.optional().describe('The whole path.'),
    pathPrefix: path
      .optional()
      .describe('Whole segments from the start: /api holds for /api and /api/x, not for /apis.'),
    regex: regex.optional().describe('A regular expression (RE2) that matches the whole path.'),
  }),
  ['exact', 'pathPrefix', 'regex'],
);

const valueMatch = oneOf(
  fields({
    exact: mayHoldShownSecret(z.string()).optional().describe('The whole value.'),
    regex: mayHoldShownSecret(regex)
      .optional()
      .describe('A regular expression (RE2) that matches the whole value.'),
  }),
  ['exact', 'regex'],
);

const match = fields({
  path: pathMatch.optional().describe('Rule for the path; every path where it is left out.'),
  method: method.optional().describe('Method of the request.'),
  headers: z
    .array(
      fields({
        name: headerName.describe(
          'Name of the header, or :method, :path (with its query), :authority, :scheme.',
        ),
        value: valueMatch.describe('What its value must be.'),
      }),
    )
    .optional()
    .describe('Headers that must all be there with such a value.'),
  query: z
    .array(
      fields({
        name: z
          .string()
          .min(1, { error: 'expected a name' })
          .meta({ description: 'Name of the parameter, decoded.', samples: ['tenant'] }),
        value: valueMatch.describe('What its value must be.'),
      }),
    )
    .optional()
    .describe('Query parameters that must all be there with such a value.'),
});

type ValueMatchSettings = z.output<typeof valueMatch>;

/** Each expression is small enough by itself (`scalars.ts`); all of a route together have a limit, too. */
function checkExpressions(matches: readonly z.output<typeof match>[], ctx: z.RefinementCtx): void {
  const expressions = new RouteExpressions();
  const add = ({ regex: source }: Pick<ValueMatchSettings, 'regex'>, at: PropertyKey[]): void => {
    if (source === undefined) return;
    try {
      expressions.add(source);
    } catch (error) {
      const message = messageOf(error);
      ctx.addIssue({ code: 'custom', path: [...at, 'regex'], message });
    }
  };
  for (const [index, { path: ofPath, headers = [], query = [] }] of matches.entries()) {
    if (ofPath !== undefined) add(ofPath, [index, 'path']);
    for (const [i, { value }] of headers.entries()) add(value, [index, 'headers', i, 'value']);
    for (const [i, { value }] of query.entries()) add(value, [index, 'query', i, 'value']);
  }
}

export const weight = (what: string): z.ZodOptional<z.ZodInt> =>
  z.int().min(0).max(1_000_000).optional().describe(`Share of the ${what}; 1 by default, 0 takes none.`);

const backendKinds = ['host', 'mcp', 'backend'];

const addresses = backendAddresses.describe(
  'Where `host` is served, when not at the addresses that its name has; requests are spread over all of them.',
);

const ofMcpBackends = policiesOn('mcpBackend') as readonly string[];

/** The reason why a policy cannot stand on a backend of this kind; undefined if it can. */
export function misplacedOnBackend(name: string, isMcp: boolean): string | undefined {
  if (ofMcpBackends.includes(name) === isMcp) return undefined;
  return isMcp
    ? 'is for HTTP backends: write it on the route, or on a target'
    : 'is for MCP backends: write it where `mcp` stands, or on the route';
}

/** Each kind of backend has policies of its own. */
function policiesOfKind<
  Schema extends z.ZodType<{
    host?: unknown;
    addresses?: unknown;
    mcp?: unknown;
    policies?: Readonly<Record<string, unknown>> | undefined;
  }>,
>(schema: Schema): Schema {
  return schema.superRefine(({ host, addresses: given, mcp, policies }, context) => {
    if (given !== undefined && host === undefined)
      context.addIssue({
        code: 'custom',
        path: ['addresses'],
        message: 'belongs to `host`, which is missing',
      });
    if (mcp === undefined && host === undefined) return;
    for (const [name, value] of Object.entries(policies ?? {})) {
      const message = value === undefined ? undefined : misplacedOnBackend(name, mcp !== undefined);
      if (message !== undefined) context.addIssue({ code: 'custom', path: ['policies', name], message });
    }
  });
}

const routeBackend = policiesOfKind(
  oneOf(
    fields(
      {
        host: hostAndPort.optional().describe('An HTTP app, as name:port or https://name.'),
        addresses: addresses.optional(),
        mcp: mcpBackend.optional().describe('MCP servers.'),
        backend: backendName.optional().describe('Name of an entry of the top-level `backends`.'),
        weight: weight('requests'),
        policies: backendPolicies.optional().describe('How connections to this backend are made.'),
      },
      ['service', 'internal', 'dynamic', 'ai', 'aws', 'routeGroup', 'invalid'],
    ),
    backendKinds,
  ),
);

/** An entry of the top-level `backends`. */
export const namedBackend = policiesOfKind(
  oneOf(
    fields(
      {
        name: objectName.describe('What routes refer to.'),
        host: hostAndPort.optional().describe('An HTTP app, as name:port or https://name.'),
        addresses: addresses.optional(),
        mcp: mcpBackend.optional().describe('MCP servers.'),
        policies: backendPolicies.optional().describe('How connections to this backend are made.'),
      },
      ['internal', 'ai', 'aws'],
    ),
    ['host', 'mcp'],
  ),
);

const routeFields = {
  name: objectName
    .optional()
    .describe('Names the route in logs, metrics and explain; route0, route1, … by default.'),
  hostnames: z
    .array(hostname)
    .optional()
    .describe('Host names it serves, *.example.com for all below; every host of the listener by default.'),
  matches: z
    .array(match)
    .superRefine(checkExpressions)
    .optional()
    .describe('Any one of them selects the route; all parts of one must hold. Every request by default.'),
  policies: routePolicies.optional().describe('What is checked and changed on the way.'),
  backends: z.array(routeBackend).optional().describe('Where requests go, in proportion to the weights.'),
};
const unbuilt = ['namespace', 'ruleName'];

export const route = fields(routeFields, unbuilt);

/** `gateway` or `gateway/listener`. */
export const gatewayRefs = z.union([z.string(), z.array(z.string())], {
  error: 'expected the name of a gateway (or gateway/listener), or a list of such names',
});

export const attachedRoute = fields(
  {
    gateways: gatewayRefs
      .optional()
      .describe(
        'Gateways, as name or name/listener, that serve the route; the gateway `default` by default.',
      ),
    ...routeFields,
  },
  unbuilt,
);

export type MatchSettings = z.output<typeof match>;
export type RouteSettings = z.output<typeof route>;
export type BackendSettings = z.output<typeof routeBackend>;
export type NamedBackendSettings = z.output<typeof namedBackend>;
