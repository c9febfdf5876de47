import { z } from 'zod';
import { endedFields, samplingSetting } from '../../policies/facts.ts';
import { choice, fields, parsed, secret } from '../../schema/index.ts';

/** http is for collectors beside the gateway; a secret in the URL would stand in logs. */
function parseUrl(text: string): string | undefined {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol) || url.hostname === '') return undefined;
  if (url.username !== '' || url.password !== '')
    throw new Error('expected no user and password here: write the credential in headers');
  return url.href;
}

/** `config.tracing`, read at start. */
export const tracing = fields({
  otlpEndpoint: parsed('an http or https address', parseUrl).describe(
    'Address of the OpenTelemetry collector that gets the spans.',
  ),
  otlpProtocol: choice(['grpc', 'http']).optional().describe('OTLP over gRPC, the default, or over HTTP.'),
  path: z
    .string()
    .regex(/^\//, { error: 'expected a path that begins with /' })
    .optional()
    .describe('Path of exports over HTTP; /v1/traces by default.'),
  headers: z
    .record(
      z.string().regex(/^[a-z0-9!#$%&'*+.^_`|~-]{1,128}$/i, { error: 'expected the name of a header' }),
      secret(z.string().regex(/^[\x20-\x7e]{0,4096}$/, { error: 'expected ASCII text' }), 'text'),
    )
    .optional()
    .describe('Headers of every export, such as credentials.'),
  fields: fields({
    add: endedFields('CEL expressions of attributes of the server span, by name.').optional(),
    remove: z
      .array(z.string().min(1).max(256))
      .max(128)
      .optional()
      .describe('Attributes of the gateway that spans do not have.'),
  })
    .optional()
    .describe('Changes to the attributes of spans.'),
  randomSampling: samplingSetting(
    'Requests without a trace of their client that are traced: a share from 0 to 1, true, false, or an expression; none by default.',
  ).optional(),
  clientSampling: samplingSetting(
    'Requests that their client has sampled and that are traced: a share from 0 to 1, true, false, or an expression; all by default.',
  ).optional(),
}).describe('Traces of requests, and the OpenTelemetry collector that gets them.');
