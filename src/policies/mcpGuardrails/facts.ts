import { z } from 'zod';
import { hostAndPort } from '../../schema/index.ts';
import { requestAttributes } from '../attributes/declared.ts';
import { expression } from '../fields/expression.ts';
import { headerOrPseudo } from '../fields/headerOrPseudo.ts';
import { notBuilt } from '../fields/notBuilt.ts';
import { policyConnection } from '../fields/policyConnection.ts';
import { located, policyServer, serverName, type PolicyServer } from '../fields/policyServer.ts';
import type { PolicyFacts } from '../policyFacts.ts';
import { patternFault, type Phase } from './methods.ts';

/** A gRPC service that checks messages, and the messages that it gets. */
export interface ProcessorSettings extends PolicyServer {
  /** From the call to the end of the answer. */
  readonly timeoutMs: number;
  readonly failureMode: 'failClosed' | 'failOpen';
  /** Name → CEL expression. */
  readonly metadata: Readonly<Record<string, string>>;
  readonly requestHeaders: HeaderFilter;
  /** Pattern → phase. */
  readonly methods: Readonly<Record<string, Phase>>;
}

/** Names in lower case; pseudo-headers begin with a colon. */
export interface HeaderFilter {
  /** Empty: all. */
  readonly allowed: readonly string[];
  readonly disallowed: readonly string[];
}

export interface McpGuardrailsSettings {
  readonly processors: readonly ProcessorSettings[];
}

const headerNames = (description: string) =>
  z.array(headerOrPseudo()).max(256).default([]).meta({ description });

const methods = z
  .record(z.string(), z.enum(['off', 'request', 'response', 'full']))
  .superRefine((given, ctx) => {
    for (const pattern of Object.keys(given)) {
      const fault = patternFault(pattern);
      if (fault !== undefined) ctx.addIssue({ code: 'custom', message: fault, path: [pattern] });
    }
  })
  .default({})
  .meta({
    description:
      'The methods that the processor checks, and when: request, response, full (both) or off. A method is exact (tools/call), or a pattern (tools/*, */list, *); the most exact one counts. The processor gets no other message.',
  });

const connection = policyConnection(
  'processor',
  'Time for one check, after which failureMode decides; 10s by default.',
);

const usualTimeoutMs = 10_000;

const processor = z
  .strictObject({
    kind: z.literal('remote').meta({ description: 'A gRPC service; there is no other kind.' }),
    host: z
      .union([hostAndPort, z.string().regex(/^[a-z0-9._-]+$/i)])
      .meta({
        description: 'The processor: name:port, https://name for TLS, or the name of the host with `port`.',
      })
      .optional(),
    backend: serverName,
    port: z.int().min(1).max(65_535).optional().meta({ description: 'Port, where host has none.' }),
    service: notBuilt('services; write the host'),
    policies: connection.optional(),
    failureMode: z.enum(['failClosed', 'failOpen']).default('failClosed').meta({
      description:
        'What happens when the processor cannot be asked: failClosed, the default, refuses the message.',
    }),
    metadata: z
      .record(z.string().min(1).max(256), expression(requestAttributes, 'CEL expression of the value.'))
      .default({})
      .meta({ description: 'Values for the processor, such as claims of the caller: name and expression.' }),
    requestHeaders: z
      .strictObject({
        allowed: headerNames('Headers that the processor gets; all where the list is empty.'),
        disallowed: headerNames('Headers that the processor does not get, also where `allowed` has them.'),
      })
      .default({ allowed: [], disallowed: [] })
      .meta({ description: 'The headers of the HTTP request that the processor gets; all by default.' }),
    methods,
  })
  .transform((value, ctx): ProcessorSettings => {
    const { host: written, port, backend, policies, failureMode, metadata, requestHeaders } = value;
    const bare = typeof written === 'string';
    if (bare ? port === undefined : port !== undefined)
      ctx.addIssue({
        code: 'custom',
        message: bare
          ? 'expected a port'
          : `${written === undefined ? 'backend' : 'host'} has a port already`,
        path: ['port'],
      });
    const host = bare ? { host: written, port: port ?? 0 } : written;
    return {
      ...policyServer({ host, backend }, policies?.backendTLS, ctx),
      timeoutMs: policies?.http?.requestTimeout ?? usualTimeoutMs,
      failureMode,
      metadata,
      requestHeaders,
      methods: value.methods,
    };
  });

export const mcpGuardrailsSchema: z.ZodType<McpGuardrailsSettings> = z
  .strictObject({
    processors: z.array(processor).min(1).max(16).meta({
      description: 'The services that check messages, one after the other; the first refusal counts.',
    }),
  })
  .meta({
    description:
      'gRPC services that check MCP requests and their results, and pass, change or refuse them (mcpGuardrails of the format).',
  });

export const mcpGuardrailsFacts = {
  schema: mcpGuardrailsSchema,
  on: ['route', 'mcpBackend'],
  about: 'caller',
  servers: {
    paths: ['processors.*'],
    located: (settings, find) => ({
      processors: (settings as McpGuardrailsSettings).processors.map((one) => located(one, find)),
    }),
  },
  warnings: (settings) =>
    (settings as McpGuardrailsSettings).processors.flatMap(({ methods: given }, index) =>
      Object.values(given).every((phase) => phase === 'off')
        ? [`processors[${String(index)}] gets no message: its \`methods\` name none`]
        : [],
    ),
  forMcpOnly: () => 'mcpGuardrails',
} as const satisfies PolicyFacts;
