import { celDuration, fromCel, toCel, type CelContext, type Program } from '../../cel/index.ts';
import type { HeaderLine } from '../../http/index.ts';
import type { McpItem } from '../../mcp/contract.ts';
import type { Exchange } from '../policy.ts';
import { answerContext, contextFor } from './context.ts';

type Value = CelContext[string];

/** The facts about a request that are known when it has ended. */
export interface EndedRequest {
  /** 0 where the client left before a response began. */
  readonly status: number;
  /** Milliseconds since the epoch. */
  readonly endedAt: number;
  /** The head of the response; empty unless an expression reads it. */
  readonly responseLines: readonly HeaderLine[];
  /** The texts of the request that its policies read as credentials. */
  credentials?(): readonly string[];
  /** Times of the (last) request to the backend, in milliseconds; absent where nothing was sent. */
  readonly timing: EndedTiming | undefined;
  readonly backend: EndedBackend | undefined;
  /** The MCP request that the client sent, and the item that it names. */
  readonly mcp: { readonly methodName: string | undefined; readonly item: McpItem | undefined };
}

export interface EndedTiming {
  /** Until the request was sent to the backend. */
  readonly requestMs: number;
  /** From there to the head of the answer. */
  readonly upstreamMs: number | undefined;
  /** From there to the end of the response. */
  readonly responseMs: number | undefined;
}

export interface EndedBackend {
  readonly name: string;
  readonly type: string | undefined;
  readonly protocol: string | undefined;
}

/** Makes the context of programs that run when a request has ended. It reads only what the programs use. */
export function endedContextFor(
  programs: readonly Program[],
): (exchange: Exchange, ended: EndedRequest) => CelContext {
  const ofRequest = contextFor(programs);
  const uses = (name: string): boolean => programs.some((program) => program.uses(name));
  const [response, backend, mcp] = [uses('response'), uses('backend'), uses('mcp')];
  const guardrails = uses('mcpGuardrails');
  const isWhole = (name: string): boolean => programs.some((program) => program.wholes.includes(name));
  const times = isWhole('proxy') || durations.some(([name]) => uses(`proxy.${name}`));
  const end = isWhole('request') || uses('request.endTime');
  return (exchange, ended) => {
    const context: Record<string, Value> = { ...ofRequest(exchange) };
    if (response && ended.status !== 0)
      context['response'] = answerContext(
        { status: ended.status, lines: () => ended.responseLines },
        exchange,
      );
    if (backend && ended.backend !== undefined) context['backend'] = known(ended.backend);
    if (times) context['proxy'] = joined(context['proxy'], timesOf(ended.timing));
    if (end)
      context['request'] = joined(context['request'], [['endTime', new Date(ended.endedAt).toISOString()]]);
    if (mcp) context['mcp'] = mcpOf(ended);
    if (guardrails && exchange.guardrails !== undefined)
      context['mcpGuardrails'] = toCel(Object.fromEntries(exchange.guardrails));
    return context;
  };
}

const durations = [
  ['requestProcessingDuration', 'requestMs'],
  ['upstreamDuration', 'upstreamMs'],
  ['responseProcessingDuration', 'responseMs'],
] as const;

function timesOf(timing: EndedTiming | undefined): [string, Value][] {
  return durations.flatMap(([name, member]): [string, Value][] => {
    const ms = timing?.[member];
    return ms === undefined ? [] : [[name, celDuration(ms)]];
  });
}

/** Members without a value are left out, so that `has` tells. */
const known = (members: object): Value =>
  new Map(Object.entries(members).filter((entry): entry is [string, string] => entry[1] !== undefined));

const joined = (group: Value | undefined, more: readonly (readonly [string, Value])[]): Value =>
  new Map([...((group as ReadonlyMap<string, Value> | undefined) ?? []), ...more]) as Value;

function mcpOf({ mcp: { methodName, item } }: EndedRequest): Value {
  return new Map<string, Value>([
    ...(methodName === undefined ? [] : [['methodName', methodName] as const]),
    ...(item === undefined ? [] : [[item.kind, toCel({ name: item.name, target: item.target })] as const]),
  ]);
}

/** A CEL value as JSON data; undefined where it has no such form. Times become seconds, with `s`. */
export function jsonOf(value: unknown): unknown {
  try {
    return fromCel(value);
  } catch {
    return undefined;
  }
}
