import { fromCel, type CelContext, type Program } from '../../cel/index.ts';
import { GatewayError } from '../../errors.ts';
import { messageOf } from '../../errorText.ts';
import type { HeaderLine } from '../../http/index.ts';
import { compiled } from '../attributes/compiled.ts';
import { contextFor } from '../attributes/context.ts';
import { requestAttributes } from '../attributes/declared.ts';
import { evaluate } from '../attributes/evaluate.ts';
import { valuePattern } from '../fields/httpText.ts';
import type { Exchange, Policy } from '../policy.ts';
import { directResponseSchema, type DirectResponseSettings } from './facts.ts';

/** A warning that clients can cause is written at most so often. */
const TELL_EVERY_MS = 10_000;

/** A header whose expression failed. */
interface LeftOut {
  readonly name: string;
  readonly why: string;
}

interface Body {
  readonly type: string;
  readonly body: string | Buffer;
}

export const directResponse: Policy<DirectResponseSettings> = {
  schema: directResponseSchema,
  prepare(settings, { log, now }) {
    const { status } = settings;
    const headers = Object.entries(settings.headers).map(
      ([name, source]) => [name.toLowerCase(), program(source)] as const,
    );
    const bodyProgram = settings.bodyExpression === undefined ? undefined : program(settings.bodyExpression);
    const fixed: Body | undefined =
      settings.body === undefined ? undefined : { type: 'text/plain; charset=utf-8', body: settings.body };
    const programs = headers.map(([, one]) => one);
    const context = contextFor(bodyProgram === undefined ? programs : [...programs, bodyProgram]);
    let told = -Infinity;

    /** A client can cause it with every request: the access log has each, the log only one from time to time. */
    function tell(exchange: Exchange, left: readonly LeftOut[]): void {
      exchange.request.annotate('headersLeftOut', left.map(({ name }) => name).join(', '));
      if (now() - told < TELL_EVERY_MS) return;
      told = now();
      for (const { name, why } of left)
        log.warn('directResponse: header omitted from the response', { header: name, problem: why });
    }

    return {
      onRequest(exchange) {
        const values = context(exchange);
        const lines: HeaderLine[] = [];
        const left: LeftOut[] = [];
        for (const [name, one] of headers) {
          const made = headerValue(one, values, exchange);
          if ('text' in made) lines.push([name, made.text]);
          else left.push({ name, why: made.why });
        }
        if (left.length > 0) tell(exchange, left);
        const made = bodyProgram === undefined ? fixed : bodyOf(bodyProgram, values, exchange);
        if (made === undefined) return { status, headers: lines };
        const typed = lines.some(([name]) => name === 'content-type');
        const all: HeaderLine[] = typed ? lines : [['content-type', made.type], ...lines];
        return { status, headers: all, body: made.body };
      },
    };
  },
};

const program = (source: string): Program => compiled(source, requestAttributes, `expression ${source}`);

const failure = (one: Program, problem: string): GatewayError =>
  new GatewayError('policy_failed', { detail: `directResponse: ${one.source}: ${problem}` });

/** The rest of the answer is sent without it. */
function headerValue(
  one: Program,
  values: CelContext,
  exchange: Exchange,
): { readonly text: string } | { readonly why: string } {
  const value = evaluate(one, values, exchange, 'directResponse');
  if (value instanceof Error) return { why: `${one.source}: ${value.message}` };
  const text = ['string', 'boolean', 'bigint', 'number'].includes(typeof value) ? String(value) : undefined;
  if (text === undefined)
    return { why: `${one.source}: a header value must be a string, a number or a boolean` };
  // The expression may contain what a client sent: it must not begin a header of its own.
  return valuePattern.test(text) ? { text } : { why: `${one.source}: not a header value` };
}

function bodyOf(one: Program, values: CelContext, exchange: Exchange): Body {
  const value = evaluate(one, values, exchange, 'directResponse');
  if (value instanceof Error) throw failure(one, value.message);
  if (typeof value === 'string') return { type: 'text/plain; charset=utf-8', body: value };
  if (value instanceof Uint8Array) return { type: 'application/octet-stream', body: Buffer.from(value) };
  try {
    return { type: 'application/json', body: JSON.stringify(fromCel(value)) };
  } catch (error) {
    throw failure(one, messageOf(error));
  }
}
