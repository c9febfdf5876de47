import { z } from 'zod';
import { backendName, choice, fields, hostAndPort, oneOf, parsed, secret } from '../../schema/index.ts';

/** http is for collectors beside the gateway; a secret in the URL would stand in logs. */
function parseUrl(text: string): string | undefined {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol) || url.hostname === '') return undefined;
  if (url.username !== '' || url.password !== '')
    throw new Error('expected no user and password here: write the credential in headers');
  return url.href;
}

const protocol = choice(['grpc', 'http'])
  .optional()
  .describe('OTLP over gRPC, the default, or over HTTP with protobuf bodies.');

const path = (usual: string) =>
  z
    .string()
    .regex(/^\//, { error: 'expected a path that begins with /' })
    .optional()
    .describe(`Path of exports over HTTP; ${usual} by default.`);

/** The collector of a field of `config`, by its address. */
export const collectorByUrl = (what: string, usualPath: string) => ({
  otlpEndpoint: parsed('an http or https address', parseUrl).describe(
    `Address of the OpenTelemetry collector that gets ${what}.`,
  ),
  otlpProtocol: protocol,
  path: path(usualPath),
  headers: z
    .record(
      z.string().regex(/^[a-z0-9!#$%&'*+.^_`|~-]{1,128}$/i, { error: 'expected the name of a header' }),
      secret(z.string().regex(/^[\x20-\x7e]{0,4096}$/, { error: 'expected ASCII text' }), 'text'),
    )
    .optional()
    .describe('Headers of every export, such as credentials.'),
});

/** A field of `frontendPolicies` with a collector, which is a server or a named backend. */
export const withCollector = <Shape extends z.core.$ZodLooseShape>(
  what: string,
  usualPath: string,
  others: Shape,
) =>
  oneOf(
    fields(
      {
        host: hostAndPort
          .optional()
          .describe(`OpenTelemetry collector that gets ${what}, as name:port or https://name:port.`),
        backend: backendName
          .optional()
          .describe('The same, as the name of an entry of the top-level `backends` with a `host`.'),
        protocol,
        path: path(usualPath),
        ...others,
      },
      ['policies', 'service'],
    ),
    ['host', 'backend'],
  );
