import { z } from 'zod';
import type { ApiOperation } from './operation.ts';
import { problemDocument } from './shapes.ts';

const refusals: Readonly<Record<number, string>> = {
  400: 'the request is malformed',
  401: 'the request carries no session and no secret',
  403: 'the caller may not do this, or the request comes from another site',
  413: 'the body is too large',
  415: 'the body is not application/json',
};

const withoutBody = new Set([401, 403]);

/** The description of the API (OpenAPI 3.1), made of the table of its operations. */
export function openApi(version: string, operations: readonly ApiOperation[]): Record<string, unknown> {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const row of operations) (paths[row.path] ??= {})[row.method.toLowerCase()] = described(row);
  return {
    openapi: '3.1.1',
    info: {
      title: 'Portcullis admin API',
      version,
      description:
        'The API of the admin port. Every request needs a session of the console, the secret of the operator, or the Unix socket of the gateway. The caller needs the role that the operation names in `x-access`.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    security: [{ secret: [] }, { session: [] }],
    paths,
    components: {
      schemas: { Problem: jsonSchema(problemDocument) },
      securitySchemes: {
        secret: { type: 'http', scheme: 'bearer', description: 'The secret of the operator.' },
        session: {
          type: 'apiKey',
          in: 'cookie',
          name: 'portcullis-console-PORT',
          description:
            'The session that a one-time link begins. Requests other than GET carry its token in x-portcullis-write.',
        },
      },
    },
  };
}

function described(row: ApiOperation): Record<string, unknown> {
  const { method, path, about, access, body, parameters = {}, headers = {} } = row;
  const named = Object.entries(parameters).map(([name, description]) => {
    const inPath = path.includes(`{${name}}`);
    return {
      name,
      in: inPath ? 'path' : 'query',
      ...(inPath && { required: true }),
      description,
      schema: { type: 'string' },
    };
  });
  const sent = Object.entries(headers).map(([name, description]) => ({
    name,
    in: 'header',
    description,
    schema: { type: 'string' },
  }));
  return {
    operationId: operationId(method, path),
    summary: about,
    'x-access': access,
    ...(access === 'owner' && { security: [{ secret: [] }] }),
    ...(named.length + sent.length > 0 && { parameters: [...named, ...sent] }),
    ...(body && {
      requestBody: { required: true, content: { 'application/json': { schema: jsonSchema(body, 'input') } } },
    }),
    responses: { ...success(row), ...refused(row) },
  };
}

function success({ result, isStream, about }: ApiOperation): Record<string, unknown> {
  if (isStream)
    return {
      200: { description: about, content: { 'text/event-stream': { schema: { type: 'string' } } } },
    };
  if (result === undefined) return { 204: { description: 'done' } };
  return {
    200: { description: about, content: { 'application/json': { schema: jsonSchema(result) } } },
  };
}

function refused({ body, refusals: own = {}, parameters }: ApiOperation): Record<string, unknown> {
  const usual = Object.entries(refusals).filter(
    ([status]) =>
      body !== undefined ||
      withoutBody.has(Number(status)) ||
      (Number(status) === 400 && parameters !== undefined),
  );
  const content = { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } };
  return Object.fromEntries(
    [...usual, ...Object.entries(own)].map(([status, description]) => [status, { description, content }]),
  );
}

/** `GET /api/v1/sessions/{label}` → `getSessionsLabel`. */
const operationId = (method: string, path: string): string =>
  method.toLowerCase() +
  path
    .replace('/api/v1/', '')
    .split(/[^a-zA-Z]+/)
    .map((part) => part.charAt(0).toUpperCase() + part.slice(1))
    .join('');

function jsonSchema(schema: z.ZodType, io: 'input' | 'output' = 'output'): Record<string, unknown> {
  const found: Record<string, unknown> = { ...z.toJSONSchema(schema, { io, unrepresentable: 'any' }) };
  // The dialect of OpenAPI 3.1 is the same.
  delete found['$schema'];
  return found;
}
