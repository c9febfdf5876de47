/** The shapes of bodies and answers. The description of the API is made of them. */

import { z } from 'zod';
import { roles } from '../access/roles.ts';

const time = z.iso.datetime().meta({ description: 'Time in UTC.' });
const count = z.int().min(0);

export const role = z.enum(roles);

export const session = z.object({
  role,
  canWrite: z.boolean().meta({ description: 'The caller may change the configuration.' }),
  whyReadOnly: z.string().optional(),
  writeToken: z.string().meta({
    description: 'Value of the header x-portcullis-write. Empty where the caller has no session.',
  }),
  by: z.enum(['owner', 'secret', 'session', 'gateway']).meta({
    description:
      'The proof of the caller: the Unix socket, the secret, a link, or a policy of the route to the console.',
  }),
  logoutPath: z.string().optional().meta({ description: 'The path that ends the login of the caller.' }),
});

export const loginLink = z.object({
  url: z.string(),
  role,
  expiresAt: time,
});

const worker = z.object({
  worker: z.int().min(1),
  state: z.enum(['starting', 'serving', 'waiting']),
  pid: z.int().optional(),
  restarts: count,
});

const certificate = z.object({
  certificate: z.string(),
  state: z.enum(['ready', 'stale', 'broken']),
  problem: z.string().optional(),
  expiresAt: time.nullable(),
});

const keySet = z.object({
  source: z.string(),
  keys: count,
  state: z.enum(['waiting', 'ready', 'stale']),
  problem: z.string().optional(),
  loadedAt: time.optional().meta({ description: 'The last time that the gateway read it.' }),
});

const milliseconds = z.number().min(0).nullable();

const rates = z
  .object({
    requests: count,
    refusals: count.meta({ description: 'Requests answered with 401, 403 or 429.' }),
    errors: count.meta({
      description:
        'Requests answered with 500 or more, and MCP requests that the gateway answered with an error of JSON-RPC.',
    }),
    mcpCalls: count,
    p50Ms: milliseconds,
    p99Ms: milliseconds,
  })
  .meta({ description: 'Totals since the start. Durations are those of about the last minute.' });

export const status = z.object({
  version: z.string(),
  readiness: z.enum(['starting', 'ready', 'draining']),
  startedAt: time,
  logLevel: z.string(),
  config: z.object({
    source: z.string(),
    loadedAt: time.nullable(),
    triedAt: time.nullable().meta({
      description:
        'The last time that a configuration was taken into use or refused; each attempt has its own.',
    }),
    synchronized: z.boolean(),
    problems: z.array(z.string()),
    warnings: z.array(z.string()),
    stream: z.looseObject({}).optional(),
  }),
  workers: z.array(worker),
  binds: z.array(z.object({ key: z.string(), port: z.int(), connections: count })),
  closedPorts: z.array(z.looseObject({ port: z.int(), problem: z.string() })),
  brokenRoutes: z.array(z.object({ route: z.string(), problem: z.string() })),
  certificates: z.array(certificate),
  keySets: z.array(keySet),
  rates,
  history: z
    .array(
      z.object({
        at: z.int().meta({ description: 'Milliseconds since the epoch.' }),
        requests: z.number().min(0),
        refusals: z.number().min(0),
        errors: z.number().min(0),
        p50Ms: milliseconds,
        p99Ms: milliseconds,
      }),
    )
    .meta({
      description:
        'Requests a second, and durations, since the sample before: of the last five minutes, the oldest first.',
    }),
});

export const config = z.object({
  source: z.string(),
  writable: z.boolean(),
  whyReadOnly: z.string().optional(),
  text: z.string().meta({ description: 'The configuration as written. Viewers see no secrets in it.' }),
  etag: z.string(),
  tree: z
    .array(
      z.looseObject({
        name: z.string(),
        from: z.enum(['file', 'variable', 'flag', 'default']),
        by: z.string().optional().meta({ description: 'The variables or the flag.' }),
        place: z.string().optional().meta({ description: 'File, line and column.' }),
      }),
    )
    .nullable()
    .meta({
      description:
        'The fields of the text in use with the origin of each value, and defaults; `fields` has those below. Null for a text that is too long.',
    }),
  effective: z.looseObject({}).nullable().meta({ description: 'The model in use, without secrets.' }),
});

const configProblem = z.object({
  message: z.string(),
  path: z.string().meta({ description: 'Field path; empty for the text as a whole.' }),
  line: z.int().optional(),
  column: z.int().optional(),
  hint: z.string().optional(),
});

export const newText = z.strictObject({ text: z.string() });

export const configCheck = z.object({
  ok: z.boolean(),
  problems: z.array(configProblem),
  warnings: z.array(configProblem),
  changes: z
    .object({
      routes: z.object({
        added: z.array(z.string()),
        removed: z.array(z.string()),
        changed: z.array(z.string()),
      }),
      sessionsEnded: count,
      childrenStopped: count,
      needsRestart: z
        .boolean()
        .meta({ description: 'Settings change that the gateway reads at its start only.' }),
    })
    .nullable()
    .meta({ description: 'Null where there are problems.' }),
});

export const newTag = z.object({ etag: z.string() });

export const routes = z.array(
  z.object({
    id: z.string(),
    bind: z.string(),
    port: z.int().nullable(),
    listener: z.string(),
    hostnames: z.array(z.string()),
    path: z.string().nullable(),
    kind: z.enum(['mcp', 'http', 'tcp']),
    targets: z.array(z.string()),
    authentication: z
      .object({
        kind: z.string(),
        byToken: z.boolean().meta({ description: 'Requests carry a token of one of the issuers.' }),
        issuers: z.array(z.string()),
        audiences: z.array(z.string()),
        clientScopes: z.array(z.string()),
        credential: z.enum(['token', 'password', 'key']),
        guidesClients: z
          .boolean()
          .meta({ description: 'The metadata of the route tells MCP clients where to log in.' }),
        header: z
          .object({ name: z.string(), prefix: z.string() })
          .optional()
          .meta({ description: 'The header of the credential; absent where it stands in another place.' }),
      })
      .nullable(),
    urls: z.array(z.string()),
  }),
);

export const rules = z.array(
  z.object({
    bind: z.string(),
    listener: z.string(),
    route: z
      .object({ id: z.string(), name: z.string() })
      .optional()
      .meta({ description: 'Absent for a rule of the listener.' }),
    policy: z.string(),
    place: z.string().meta({ description: 'Field path of the rule, as decisions have it.' }),
    file: z.string().meta({ description: 'The file of its policy.' }),
    line: z.int().meta({ description: 'The line of its policy.' }),
    name: z.string().optional(),
    effect: z.enum(['allow', 'deny', 'require', 'scopes']).meta({
      description: 'scopes: where the expression is true, the caller needs the scopes.',
    }),
    expression: z.string(),
    decides: z.enum(['lists and calls', 'calls', 'whole requests']),
    reads: z.array(z.string()).meta({ description: 'The variables of a call that it reads.' }),
    scopes: z.array(z.string()),
  }),
);

export const sessions = z.array(
  z.object({
    label: z.string(),
    route: z.string(),
    subject: z.string().optional(),
    client: z.object({ name: z.string(), version: z.string() }).optional(),
    revision: z.string().optional(),
    startedAt: time,
    lastUsedAt: time,
    worker: z.int().optional(),
    targets: z.array(
      z.object({
        name: z.string(),
        state: z.string(),
        since: time.optional(),
        pid: z.int().optional(),
        restarts: count.optional(),
        problem: z.string().optional(),
      }),
    ),
  }),
);

export const targets = z.array(
  z.object({
    route: z.string(),
    name: z.string(),
    kind: z.string(),
    state: z.string().meta({
      description:
        'The worst state in all sessions; failed where the last start failed, idle where no session uses it.',
    }),
    since: time.optional().meta({ description: 'The last change of this state.' }),
    sessions: count,
    problem: z.string().optional(),
    restarts: count.optional(),
    circuit: z
      .object({ retryAt: time, reason: z.string() })
      .optional()
      .meta({ description: 'New sessions of some caller do not try the server before this time.' }),
    hidden: z.array(z.object({ kind: z.string(), name: z.string(), owner: z.string() })).meta({
      description: 'Items that no client can reach, because the owner has their name; at most 100.',
    }),
    hiddenCount: count,
    stderr: z.array(z.string()),
  }),
);

export const auditLines = z.object({
  kept: z.boolean().meta({ description: 'False where no audit stream is configured.' }),
  arguments: z
    .enum(['none', 'shape', 'redacted', 'full'])
    .nullable()
    .meta({ description: 'How lines show the arguments of calls; null without a stream.' }),
  lines: z.array(z.looseObject({ time: z.int() })).meta({ description: 'The newest line comes last.' }),
});

/** A request that is explained, or that an expression is tried on. */
const tried = z.strictObject({
  request: z.string({ error: 'expected a text' }).meta({
    description: 'As on the wire: request line, header lines, an empty line, body.',
  }),
  claims: z
    .record(z.string(), z.unknown(), { error: 'expected an object' })
    .optional()
    .meta({ description: 'In place of a token.' }),
  port: z.int({ error: 'expected a number' }).optional(),
  client: z.string({ error: 'expected an address' }).optional(),
});

/** A request that is explained. */
export const trial = tried.extend({
  rule: z
    .strictObject({
      place: z.string().max(1_024).meta({ description: 'Field path of the rule, as decisions have it.' }),
      expression: z.string().max(4_096),
    })
    .optional()
    .meta({ description: 'A rule of the route with another expression, for this request only.' }),
});

/** An expression that is tried on a request, or on a record of the stream of requests. */
export const expressionTrial = tried.omit({ request: true }).extend({
  expression: z.string(),
  request: z.string().optional().meta({
    description: 'As on the wire. A JSON-RPC message in its body gives `mcp`; a GET of / where absent.',
  }),
  record: z
    .record(z.string(), z.unknown())
    .optional()
    .meta({ description: 'A record of the stream of requests, in place of a request.' }),
});

export const expressionResult = z.union([
  z.strictObject({
    value: z.unknown().meta({ description: 'JSON data.' }),
    type: z.string().meta({ description: 'Name of the CEL type.' }),
  }),
  z.strictObject({
    error: z.string(),
    place: z
      .strictObject({ line: z.int(), column: z.int() })
      .optional()
      .meta({ description: 'Place in the expression.' }),
  }),
]);

export const expressionWords = z.object({
  variables: z.array(
    z.object({
      name: z.string().meta({ description: 'Dotted, such as `mcp.tool.name`.' }),
      type: z.string().meta({ description: 'Name of the CEL type; dyn where only the run decides.' }),
    }),
  ),
  functions: z.array(
    z.object({
      name: z.string(),
      kind: z.enum(['function', 'macro']),
      on: z.array(z.string()).optional().meta({
        description: 'Types of values that have it as a method; absent where it is no method.',
      }),
      signatures: z.array(z.string()),
    }),
  ),
});

const rule = z.looseObject({ rule: z.string(), value: z.string() });

export const decision = z.looseObject({
  bind: z.string(),
  listener: z.string().optional(),
  route: z.string().optional(),
  candidates: z.array(z.looseObject({ route: z.string(), place: z.string(), verdict: z.string() })),
  policies: z.array(
    z.looseObject({
      policy: z.string(),
      place: z.string(),
      verdict: z.string(),
      because: z.string().optional(),
      rules: z.array(rule).optional(),
    }),
  ),
  outcome: z.looseObject({ kind: z.string(), status: z.int().optional() }),
});

/** A request for the playground. */
export const playRequest = z.strictObject({
  method: z.string().regex(/^[A-Z]{1,32}$/, 'expected a method such as GET'),
  path: z.string().max(16_384).regex(/^\//, 'expected a path that begins with /'),
  headers: z.record(z.string(), z.string()).default({}),
  body: z.string().optional(),
  timeoutMs: z
    .int()
    .min(1)
    .max(600_000)
    .default(60_000)
    .meta({ description: 'Time for the whole response.' }),
});

export const played = z.object({
  status: z.int(),
  headers: z
    .record(z.string(), z.union([z.string(), z.array(z.string())]))
    .meta({ description: 'Names in lower case.' }),
  body: z.string(),
  encoding: z.enum(['utf8', 'base64']).meta({ description: 'The form of `body`.' }),
  truncated: z.boolean().meta({ description: 'The response was longer than 8 MiB, or did not end in time.' }),
  ms: z.number(),
  requestId: z.string().meta({ description: 'The id of the request in logs and records.' }),
});

/** A login of the playground at an issuer. */
export const newLogin = z.strictObject({
  issuer: z
    .string()
    .max(2_048)
    .optional()
    .meta({ description: 'An issuer of the route; the first one where absent.' }),
  clientId: z
    .string()
    .min(1)
    .max(512)
    .optional()
    .meta({ description: 'A client that the issuer knows; the gateway registers one where absent.' }),
  clientSecret: z.string().min(1).max(4_096).optional(),
  scopes: z
    .array(z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]{1,256}$/, 'not a scope (RFC 6749 §3.3)'))
    .max(64)
    .optional()
    .meta({ description: 'Scopes to ask for; those that the route names where absent.' }),
});

export const begunLogin = z.object({
  steps: z
    .array(
      z.object({
        step: z.enum(['resource', 'server', 'client', 'authorization']),
        url: z.string().optional(),
        value: z.looseObject({}).optional().meta({ description: 'The answer, or what the browser sends.' }),
        warning: z.string().optional(),
        problem: z.string().optional().meta({ description: 'The fault that ended the login.' }),
      }),
    )
    .meta({ description: 'The steps so far. They hold no secrets.' }),
  login: z
    .object({
      id: z.string(),
      authorizeUrl: z.string().meta({ description: 'The page of the issuer, for a browser.' }),
      expiresAt: time,
    })
    .nullable()
    .meta({ description: 'Null where a step failed.' }),
});

export const loginState = z.object({ state: z.enum(['waiting', 'returned']) });

export const loginToken = z.object({
  accessToken: z.string(),
  expiresIn: z.number().optional().meta({ description: 'Seconds.' }),
  scope: z.string().optional(),
  hasRefreshToken: z.boolean().meta({ description: 'The issuer gave one, which the gateway dropped.' }),
});

/** A problem document (RFC 9457). */
export const problemDocument = z.object({
  type: z.string(),
  title: z.string(),
  status: z.int(),
  detail: z.string(),
  place: z.object({ line: z.int(), column: z.int(), path: z.string().optional() }).optional(),
  problems: z.array(z.looseObject({ message: z.string() })).optional(),
});
