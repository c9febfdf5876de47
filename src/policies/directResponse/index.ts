import { compile, fromCel, isProblem, type CelContext, type Program } from '../../cel/index.ts';
import { GatewayError } from '../../errors.ts';
import type { HeaderLine } from '../../http/index.ts';
import { contextFor } from '../attributes/context.ts';
import { requestAttributes } from '../attributes/declared.ts';
import { valuePattern } from '../fields/httpText.ts';
import type { Policy } from '../policy.ts';
import { directResponseSchema, type DirectResponseSettings } from './schema.ts';

interface Body {
  readonly type: string;
  readonly body: string | Buffer;
}

export const directResponse: Policy<DirectResponseSettings> = {
  name: 'directResponse',
  schema: directResponseSchema,
  prepare(settings) {
    const { status } = settings;
    const headers = Object.entries(settings.headers).map(
      ([name, source]) => [name.toLowerCase(), program(source)] as const,
    );
    const bodyProgram = settings.bodyExpression === undefined ? undefined : program(settings.bodyExpression);
    const fixed: Body | undefined =
      settings.body === undefined ? undefined : { type: 'text/plain; charset=utf-8', body: settings.body };
    const programs = headers.map(([, one]) => one);
    const context = contextFor(bodyProgram === undefined ? programs : [...programs, bodyProgram]);

    return {
      onRequest(x) {
        const values = context(x);
        const lines = headers.map(([name, one]): HeaderLine => [name, headerValue(one, values)]);
        const made = bodyProgram === undefined ? fixed : bodyOf(bodyProgram, values);
        if (made === undefined) return { status, headers: lines };
        const typed = lines.some(([name]) => name === 'content-type');
        const all: HeaderLine[] = typed ? lines : [['content-type', made.type], ...lines];
        return { status, headers: all, body: made.body };
      },
    };
  },
};

function program(source: string): Program {
  const compiled = compile(source, requestAttributes);
  if (isProblem(compiled)) throw new Error(`expression ${source}: ${compiled.message}`);
  return compiled;
}

function run(one: Program, values: CelContext): unknown {
  const value = one.run(values);
  if (value instanceof Error) throw failure(one, value.message);
  return value;
}

const failure = (one: Program, problem: string): GatewayError =>
  new GatewayError('policy_failed', { detail: `directResponse: ${one.source}: ${problem}` });

function headerValue(one: Program, values: CelContext): string {
  const value = run(one, values);
  const text = ['string', 'boolean', 'bigint', 'number'].includes(typeof value) ? String(value) : undefined;
  if (text === undefined) throw failure(one, 'a header value must be a string, a number or a boolean');
  // What a client sent may be in it: it must not begin a header of its own.
  if (!valuePattern.test(text)) throw failure(one, 'not a header value');
  return text;
}

function bodyOf(one: Program, values: CelContext): Body {
  const value = run(one, values);
  if (typeof value === 'string') return { type: 'text/plain; charset=utf-8', body: value };
  if (value instanceof Uint8Array) return { type: 'application/octet-stream', body: Buffer.from(value) };
  try {
    return { type: 'application/json', body: JSON.stringify(fromCel(value)) };
  } catch (error) {
    throw failure(one, error instanceof Error ? error.message : String(error));
  }
}
