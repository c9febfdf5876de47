/** The checks of policies on the messages of one request: before its servers get it, and before its client gets the result. */

import { GatewayError } from '../../errors.ts';
import type { HeaderLine } from '../../http/index.ts';
import type { Limits } from '../../model/index.ts';
import type { Checked, CheckRefusal, McpCheck, McpChecks } from '../contract.ts';
import {
  cut,
  foldKey,
  memberOf,
  readEnvelope,
  type Envelope,
  type Found,
  type Span,
} from '../json/envelope.ts';
import { addition, objectMembers } from '../json/objectMembers.ts';
import { splice } from '../json/scan.ts';
import { errorResponse, targetError } from '../messages/rpcError.ts';
import type { McpMetrics } from '../session/mcpMetrics.ts';
import { readPost } from './readPost.ts';

/** The part of a request that the checks look at, and that they may change. */
export interface CheckedRequest {
  /** The message with the names that the target uses. */
  readonly request: Envelope;
  readonly headers: readonly HeaderLine[];
  readonly isChanged: boolean;
}

/** Runs the checks of one request. */
export class MessageChecks {
  private readonly checks: McpChecks;
  private readonly metrics: McpMetrics;
  private readonly limits: Limits;
  /** Hears that a check refused the result in a response. */
  private readonly refused: (refusal: CheckRefusal, response: Envelope) => void;

  constructor(
    checks: McpChecks,
    metrics: McpMetrics,
    limits: Limits,
    refused: (refusal: CheckRefusal, response: Envelope) => void,
  ) {
    this.checks = checks;
    this.metrics = metrics;
    this.limits = limits;
    this.refused = refused;
  }

  get ofRequest(): boolean {
    return this.checks.request.length > 0;
  }

  get ofResult(): boolean {
    return this.checks.result.length > 0;
  }

  /** Checks a request. @param targets that get it */
  async request(request: Envelope, targets: readonly string[]): Promise<CheckedRequest | CheckRefusal> {
    const { text, body } = request;
    if (body !== undefined && isUnclear(text, body)) return repeatedParam;
    const given = body === undefined ? undefined : text.slice(body.start, body.end);
    const found = await this.inTurn('request', { targets, json: given });
    if ('refused' in found) return found.refused;
    const { json, headers = [] } = found;
    if (json === undefined) return { request, headers, isChanged: false };
    const changed = await withParams(request, json, this.limits);
    if (!('error' in changed)) return { request: changed, headers, isChanged: true };
    this.metrics.checked('request', 'failed');
    return { ...changed, by: { policy: 'mcpGuardrails', rule: 'changed params' } };
  }

  /**
   * Checks the response of the targets.
   * @returns the response for the client: with the result as it was or as the checks changed it, or an error
   * @throws GatewayError mcp_target_failed (by the promise) where the response has several results of a task, or a
   * result has a member twice
   */
  async response(text: string, method: string, targets: readonly string[]): Promise<string> {
    const message = readEnvelope(text);
    if (typeof message === 'string' || message.body === undefined) return text;
    const place = resultPlace(message, method);
    if (place === undefined) return text;
    // The client may read another one of them than the checks.
    if (place === 'ambiguous')
      throw targetError('mcp_target_failed', targets.join(), 'answered with the member "result" twice');
    if (isUnclear(text, place))
      throw targetError(
        'mcp_target_failed',
        targets.join(),
        'answered with a result that has a member twice',
      );
    const json = text.slice(place.start, place.end);
    const found = await this.inTurn('result', { targets, json });
    if ('refused' in found) {
      this.refused(found.refused, message);
      return errorResponse(found.refused.error, cut(text, message.idSpan));
    }
    return found.json === undefined
      ? text
      : splice(text, [{ ...place, replacement: found.json.replaceAll(/[\r\n\u2028\u2029]/g, escapedBreak) }]);
  }

  private async inTurn(phase: 'request' | 'result', message: Parameters<McpCheck>[0]): Promise<Checked> {
    const headers = new Map<string, HeaderLine>();
    let { json } = message;
    let isChanged = false;
    for (const check of this.checks[phase]) {
      const found = await check({ ...message, json });
      if ('refused' in found) {
        const failed = found.refused.error.code === 'mcp_guardrail_failed';
        this.metrics.checked(phase, failed ? 'failed' : 'refused');
        return found;
      }
      if (found.json !== undefined) {
        ({ json } = found);
        isChanged = true;
      }
      for (const line of found.headers ?? []) headers.set(line[0], line);
      this.metrics.checked(phase, outcomeOf(found));
    }
    return {
      ...(isChanged && json !== undefined ? { json } : {}),
      ...(headers.size === 0 ? {} : { headers: [...headers.values()] }),
    };
  }
}

/** Has the object a member twice, in whatever case? The checks may read another one of them than everybody else does. */
function isUnclear(text: string, place: Span): boolean {
  const names = objectMembers(text, place)?.map(({ name }) => foldKey(name)) ?? [];
  return new Set(names).size < names.length;
}

const repeatedParam: CheckRefusal = {
  by: { policy: 'mcpGuardrails', rule: 'repeated member' },
  error: new GatewayError('mcp_invalid_params', { message: 'invalid params: a member is repeated' }),
  asToolResult: false,
};

const outcomeOf = ({ json, unchecked }: Exclude<Checked, { readonly refused: unknown }>) => {
  if (unchecked === true) return 'unchecked';
  return json === undefined ? 'passed' : 'changed';
};

/** In JSON text a line break can only be white space, and the separators of Unicode only part of a string. */
const escapedBreak = (found: string): string =>
  found === '\r' || found === '\n' ? ' ' : `\\u${found.charCodeAt(0).toString(16)}`;

/** The place of the result, or of the result of a finished task; undefined where there is none yet. */
const resultPlace = ({ text, body }: Envelope, method: string): Found =>
  method === 'tasks/get' ? memberOf(text, body, 'result') : body;

/** The request with other params. A change without `_meta` keeps that of the client: the protocol needs it. */
async function withParams(
  request: Envelope,
  json: string,
  { maxJsonDepth: maxDepth, maxJsonNodes: maxNodes }: Limits,
): Promise<Envelope | Pick<CheckRefusal, 'error' | 'asToolResult'>> {
  const { text, idSpan, method, body } = request;
  const head = `{"jsonrpc":"2.0","id":${cut(text, idSpan)},"method":${JSON.stringify(method)},"params":`;
  const meta = memberOf(text, body, '_meta');
  const place = { start: 0, end: json.length };
  const isWithout = memberOf(json, place, '_meta') === undefined && typeof meta === 'object';
  const params = isWithout ? splice(json, [addition(json, place, `"_meta":${cut(text, meta)}`)]) : json;
  try {
    const { first } = await readPost(Buffer.from(`${head}${params}}`), { maxDepth, maxNodes });
    if (first?.kind === 'request') return first;
    throw new Error('the changed params make no request');
  } catch (cause) {
    const detail = `changed params: ${cause instanceof Error ? cause.message : String(cause)}`;
    const error = new GatewayError('mcp_guardrail_failed', { detail });
    return { error, asToolResult: false };
  }
}
