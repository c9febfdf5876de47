import { GatewayError, type ErrorCode } from '../../errors.ts';
import type { JsonObject } from '@bufbuild/protobuf';
import type { HeaderLine } from '../../http/index.ts';
import type { Checked, CheckedMessage, McpCheck } from '../../mcp/contract.ts';
import { isHeaderLine, shownHeaderName } from '../fields/httpText.ts';
import { reasonOf } from '../grpcServer.ts';
import type { Exchange, Policy, PolicyTools } from '../policy.ts';
import { mcpGuardrailsSchema, type McpGuardrailsSettings } from './facts.ts';
import type { Phase } from './methods.ts';
import { Processor } from './processor.ts';
import { decodeAnswer, type callPath, type CheckAnswer, type RefusalCode } from './wire.ts';

type Side = keyof typeof callPath;

/** Asks services outside about MCP requests and their results (`mcpGuardrails` of the format). */
export const mcpGuardrails: Policy<McpGuardrailsSettings> = {
  schema: mcpGuardrailsSchema,
  prepare({ processors }, tools) {
    const all = processors.map((settings) => new Processor(settings, tools));
    const checksOf = (side: Side) => (exchange: Exchange, method: string) =>
      all.flatMap((processor, index) => {
        const asked = askedMethod(side, processor, method);
        return asked === undefined ? [] : [checkOf(side, processor, index, exchange, asked, tools)];
      });
    return { onMcpRequest: checksOf('request'), onMcpResult: checksOf('response') };
  },
};

/** The method of which the processor gets a message; undefined where it does not get the message. */
function askedMethod(side: Side, { phaseOf, settings }: Processor, method: string): string | undefined {
  if (covers(phaseOf(method), side)) return method;
  if (!isTaskResult(side, method)) return undefined;
  // The result of a task is the result of the tool call that began it: only the name of the method exempts it.
  const own = Object.hasOwn(settings.methods, method) ? settings.methods[method] : 'off';
  return own === 'off' && covers(phaseOf(toolCall), side) ? toolCall : undefined;
}

const toolCall = 'tools/call';

const covers = (phase: Phase, side: Side): boolean => phase === 'full' || phase === side;

const isTaskResult = (side: Side, method: string): boolean =>
  side === 'response' && (method === 'tasks/result' || method === 'tasks/get');

/** The check of one message by one processor. The exchange may be over when the result is there. */
function checkOf(
  side: Side,
  processor: Processor,
  index: number,
  exchange: Exchange,
  method: string,
  { log }: PolicyTools,
): McpCheck {
  const metadata = processor.metadataOf(exchange);
  const headers = side === 'request' ? processor.headersOf(exchange) : [];
  const by = { policy: 'mcpGuardrails', rule: processor.name, place: `.processors[${String(index)}]` };
  return async ({ targets, json }: CheckedMessage): Promise<Checked> => {
    let isAnswered = false;
    try {
      const given = await processor.ask(side, { targets, method, metadata, json, headers });
      isAnswered = true;
      const answer = decodeAnswer(given.message);
      note(exchange, answer.metadata);
      const { verdict } = answer;
      if (verdict.kind !== 'error') return passed(answer);
      const error = refusalOf(verdict);
      return { refused: { by, error, asToolResult: side === 'request' && method === 'tools/call' } };
    } catch (cause) {
      const reason = reasonOf(cause);
      isAnswered ||= cause instanceof GatewayError && cause.code === 'upstream_too_large';
      // An answer that cannot be used may be a refusal or a change: the original message must not pass.
      const isOpen = !isAnswered && processor.settings.failureMode === 'failOpen';
      const event = isAnswered ? 'Guardrail answer is invalid' : 'Guardrail not asked';
      log.warn(`${event}: ${isOpen ? 'the message passed' : 'message refused'}`, {
        processor: processor.name,
        method,
        reason,
      });
      if (isOpen) return { unchecked: true };
      const call = side === 'request' ? 'checkRequest' : 'checkResponse';
      const message = `mcpGuardrails ${call} failed`;
      const error = new GatewayError('mcp_guardrail_failed', { message, detail: reason });
      return { refused: { by, error, asToolResult: false } };
    }
  };
}

/** @throws Error for changes that no message can have */
function passed({ verdict, set }: CheckAnswer): Checked {
  const json = verdict.kind === 'mutated' ? checkedObject(verdict.json) : undefined;
  return {
    ...(json === undefined ? {} : { json }),
    ...(set.length === 0 ? {} : { headers: checkedHeaders(set) }),
  };
}

/** @throws Error where the text is not JSON, or no object */
function checkedObject(json: string): string {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    throw new Error('the changed message is not JSON');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Error('the changed message is not a JSON object');
  return json.trim();
}

/** @throws Error for a header that belongs to the gateway, or cannot be sent */
function checkedHeaders(set: readonly HeaderLine[]): readonly HeaderLine[] {
  for (const line of set)
    if (!isHeaderLine(line) || ofGateway.test(line[0]))
      throw new Error(`the processor set a header that it must not set: ${shownHeaderName(line[0])}`);
  return set;
}

/** Headers that frame the message, and those of the protocol. */
const ofGateway =
  /^(?:mcp-.*|accept|accept-encoding|connection|content-.*|expect|host|keep-alive|last-event-id|proxy-connection|te|trailer|transfer-encoding|upgrade)$/;

const codes: Readonly<Record<RefusalCode, ErrorCode>> = {
  UNKNOWN: 'mcp_guardrail_denied',
  PERMISSION_DENIED: 'mcp_guardrail_denied',
  RESOURCE_EXHAUSTED: 'mcp_guardrail_exhausted',
  INVALID: 'mcp_guardrail_invalid',
};
/** Characters of a reason. */
const longestReason = 4_096;

function refusalOf({ code, reason, mcpError }: CheckAnswer['verdict'] & { kind: 'error' }): GatewayError {
  const own = errorObject(mcpError);
  const message = (own?.message ?? reason).slice(0, longestReason);
  return new GatewayError(codes[code], {
    ...(message === '' ? {} : { message }),
    detail: reason.slice(0, longestReason),
    ...(own?.code === undefined ? {} : { rpcCode: own.code }),
    ...(own?.data === undefined ? {} : { jsonBody: own.data }),
  });
}

interface OwnError {
  readonly code?: number;
  readonly message?: string;
  readonly data?: Readonly<Record<string, unknown>>;
}

/** The JSON-RPC error of a processor (JSON-RPC 2.0 §5.1), as far as it is one. */
function errorObject(json: string | undefined): OwnError | undefined {
  if (json === undefined) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    return undefined;
  }
  if (typeof value !== 'object' || value === null) return undefined;
  const { code, message, data } = value as Record<string, unknown>;
  return {
    ...(Number.isSafeInteger(code) ? { code: code as number } : {}),
    ...(typeof message === 'string' ? { message } : {}),
    ...(typeof data === 'object' && data !== null ? { data: data as Record<string, unknown> } : {}),
  };
}

/** Names of values that one request keeps. */
const mostValues = 64;

/** Keeps the values that a processor returned. */
function note(exchange: Exchange, metadata: JsonObject): void {
  for (const [name, value] of Object.entries(metadata)) {
    const kept = (exchange.guardrails ??= new Map());
    if (kept.size < mostValues || kept.has(name)) kept.set(name, value);
  }
}
