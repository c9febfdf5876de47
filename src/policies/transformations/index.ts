import type { CelContext, Members, Program } from '../../cel/index.ts';
import { GatewayError } from '../../errors.ts';
import {
  otherReadings,
  parseAuthority,
  readTarget,
  type HeaderEdits,
  type HttpRequest,
} from '../../http/index.ts';
import { compiled } from '../attributes/compiled.ts';
import { answerContext, contextFor, type ContextOf } from '../attributes/context.ts';
import { requestAttributes, sentAnswerAttributes } from '../attributes/declared.ts';
import { evaluate } from '../attributes/evaluate.ts';
import { namesAuthority } from '../headerModifier/facts.ts';
import type { BackendHead, Exchange, Policy } from '../policy.ts';
import {
  changesNothing,
  transformationsSchema,
  type Changes,
  type TransformationsSettings,
} from './facts.ts';
import { headerText } from '../fields/headerText.ts';
import { withClientRequest, withSentRequest } from '../seenRequest.ts';

/** Headers of requests and responses by CEL expressions (`transformations` of the format). */
export const transformations: Policy<TransformationsSettings> = {
  schema: transformationsSchema,
  prepare({ request, response }) {
    return {
      ...(changesNothing(request) ? {} : { onRequest: requestStep(request) }),
      ...(changesNothing(response) ? {} : { onResponse: responseStep(response) }),
    };
  },
};

/** A field, and the program of its value. */
interface Field {
  readonly name: string;
  readonly program: Program;
  /** Names the expression to the operator. */
  readonly what: string;
}

/** The changes to one message, with their programs. */
interface Plan {
  readonly add: readonly Field[];
  readonly set: readonly Field[];
  readonly remove: readonly string[];
  readonly contextOf: ContextOf;
  /** Some program reads the request. */
  readonly readsRequest: boolean;
}

/** The values of `add` and of `set`, in order; undefined where there is none that a header can have. */
interface Values {
  readonly add: readonly (string | undefined)[];
  readonly set: readonly (string | undefined)[];
}

function planOf({ add, set, remove }: Changes, side: string, attributes: Members): Plan {
  const fields = (kind: string, written: Readonly<Record<string, string>>): Field[] =>
    Object.entries(written).map(([name, source]) => {
      const what = `transformations.${side}.${kind}.${name}`;
      return { name: name.toLowerCase(), program: compiled(source, attributes, what), what };
    });
  const plan = { add: fields('add', add), set: fields('set', set) };
  const programs = [...plan.add, ...plan.set].map(({ program }) => program);
  const readsRequest = programs.some((program) => program.uses('request'));
  return { ...plan, remove, contextOf: contextFor(programs), readsRequest };
}

function valuesOf({ add, set }: Plan, context: CelContext, exchange: Exchange): Values {
  const valueOf = ({ program, what }: Field): string | undefined => {
    const value = evaluate(program, context, exchange, what);
    const text = headerText(value);
    if (text === undefined && value !== null && !(value instanceof Error))
      exchange.expressionFailed?.(
        { policy: 'transformations', rule: what, place: what.slice('transformations'.length) },
        'the value cannot stand in a header',
      );
    return text;
  };
  return { add: add.map(valueOf), set: set.map(valueOf) };
}

/**
 * The order of the format. A name without a value is removed, so that nobody trusts the value that the peer has sent for
 * it; `add` leaves the lines of the peer in any case.
 */
function edit({ add, set, remove }: Plan, values: Values, edits: HeaderEdits): void {
  for (const [index, { name }] of add.entries()) {
    const value = values.add[index];
    if (value !== undefined) edits.add(name, value);
  }
  for (const [index, { name }] of set.entries()) {
    if (isPlace(name)) continue;
    const value = values.set[index];
    if (value === undefined) edits.remove(name);
    else edits.set(name, value);
  }
  for (const name of remove) edits.remove(name);
}

/** Settings → the values of a request. The messages for MCP servers get those of the request of their client. */
const known = new WeakMap<Changes, WeakMap<HttpRequest, Values>>();

function requestStep(changes: Changes): (exchange: Exchange) => undefined {
  const plan = planOf(changes, 'request', requestAttributes);
  const ofRequests = known.get(changes) ?? new WeakMap<HttpRequest, Values>();
  known.set(changes, ofRequests);
  const compute = (exchange: Exchange): Values => {
    const context = plan.contextOf(exchange);
    return valuesOf(plan, plan.readsRequest ? withSentRequest(context, exchange) : context, exchange);
  };
  return (exchange) => {
    const { request, forTarget } = exchange;
    const values = (forTarget === true ? ofRequests.get(request) : undefined) ?? compute(exchange);
    if (forTarget !== true) ofRequests.set(request, values);
    edit(plan, values, exchange.requestHeaders);
    for (const [index, field] of plan.set.entries())
      if (isPlace(field.name)) direct(exchange, field, values.set[index]);
    return undefined;
  };
}

function responseStep(
  changes: Changes,
): (exchange: Exchange, status: number, head?: BackendHead) => undefined {
  const plan = planOf(changes, 'response', sentAnswerAttributes);
  const readsAnswer = [...plan.add, ...plan.set].some(({ program }) => program.uses('response'));
  return (exchange, status, head) => {
    const context = plan.contextOf(exchange);
    const seen = plan.readsRequest ? withClientRequest(context, exchange) : context;
    const answer = { status, lines: () => head?.lines() ?? [] };
    const whole = readsAnswer ? { ...seen, response: answerContext(answer, exchange) } : seen;
    edit(plan, valuesOf(plan, whole, exchange), exchange.responseHeaders);
    return undefined;
  };
}

/** Does the name stand for the target or the host of a request, rather than for a header? */
const isPlace = (name: string): boolean => name === ':path' || namesAuthority(name);

/**
 * Sends the request to another target or host.
 * @throws GatewayError policy_failed without a usable value: the backend would take the one of the client for ours
 */
function direct(exchange: Exchange, { name, what }: Field, value: string | undefined): void {
  if (name === ':path') {
    // An MCP server has a path of its own, and `OPTIONS *` has none.
    if (exchange.forTarget === true || exchange.request.path === '*') return;
    exchange.forwardTarget = usable(value === undefined ? undefined : targetIn(value), what);
  } else {
    const authority = value === undefined ? undefined : parseAuthority(value)?.authority;
    exchange.forwardHost = { kind: 'full', authority: usable(authority, what) };
  }
}

function usable(value: string | undefined, what: string): string {
  if (value !== undefined) return value;
  throw new GatewayError('policy_failed', { detail: `${what}: no usable value` });
}

/** Visible ASCII without a fragment. */
const targetPattern = /^\/[!"$-~]*$/;

/**
 * Path and query in normal form: a part that came from the client must not climb out of the path before it.
 * @returns undefined for any other text
 */
function targetIn(text: string): string | undefined {
  if (!targetPattern.test(text)) return undefined;
  const read = readTarget(text, 'GET');
  return read?.target === text && otherReadings(read.path) !== undefined ? text : undefined;
}
