import { isIP } from 'node:net';
import { errorOf } from '../../errorText.ts';
import { catalogue, GatewayError, type ErrorCode } from '../../errors.ts';
import {
  canonical,
  Head,
  parseAuthority,
  parseRequest,
  readTarget,
  refusal,
  COMPLETE,
} from '../../http/index.ts';
import { judgeMessages, namedItem, type McpVerdict } from '../../mcp/index.ts';
import type { Limits } from '../../model/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import { tryExpression, tryOnRecord, type TriedExpression } from '../../policies/index.ts';
import type {
  Decision,
  DecisionOutcome,
  ExplainedMessage,
  ExpressionTrial,
  TrialRequest,
} from '../contract.ts';
import { callerOf } from '../exchange/caller.ts';
import { decisionOf } from '../exchange/decision.ts';
import { handle } from '../exchange/handle.ts';
import { originOf } from '../exchange/steps.ts';
import type { ClientEnd } from '../exchange/receivedRequest.ts';
import type { ExchangePort } from '../exchange/liveExchange.ts';
import { bindKey, type Snapshot } from '../snapshot/snapshot.ts';
import { withChangedRule } from './changedRule.ts';
import { TrialExchange } from './trialExchange.ts';
import { TrialSide } from './trialSide.ts';

export interface ExplainTools {
  readonly snapshot: Snapshot;
  readonly log: Logger;
  readonly limits: Limits;
  readonly trustedProxies: ClientEnd['port']['trustedProxies'];
}

/** A request that took its way through the snapshot. */
interface Tried {
  readonly exchange: TrialExchange;
  readonly decision: Decision;
  /** The verdicts about its MCP messages; empty where no backend would get them. */
  readonly mcp: readonly ExplainedMessage[];
}

/**
 * Explains a request: it takes the way of every other through the snapshot, and ends where a backend would get it. No
 * host is called, no counter changes, and nothing is logged.
 * @throws Error for a request without a request line, for a port that the configuration does not have, and for a changed
 *   rule that the route does not have or cannot have
 */
export async function explain(request: TrialRequest, tools: ExplainTools): Promise<Decision> {
  const tried = await tryRequest(request, tools);
  if (!('exchange' in tried)) return tried;
  const { exchange, decision, mcp } = tried;
  return {
    ...decision,
    ...(mcp.length === 0 ? {} : { mcp }),
    outcome: outcomeOf(decision, exchange, mcp),
  };
}

/**
 * Tries an expression on a request, after the request took the way of every other through the snapshot, or on a record.
 * @throws Error for a request that is malformed, or for a port that the configuration does not have
 */
export async function explainExpression(
  { expression, record, ...given }: ExpressionTrial,
  tools: ExplainTools,
): Promise<TriedExpression> {
  if (record !== undefined) return tryOnRecord(expression, JSON.stringify(record));
  const tried = await tryRequest({ ...given, request: given.request ?? anyRequest }, tools);
  if (!('exchange' in tried)) throw new Error(tried.outcome.reason ?? 'the request is malformed');
  const { exchange } = tried;
  const { claims } = given;
  // No policy of the route asks for a token, or the policy refuses these claims.
  if (claims !== undefined)
    exchange.identity ??= { issuer: textOf(claims['iss']), subject: textOf(claims['sub']), claims };
  return tryExpression(expression, exchange, await itemOf(exchange, tools.limits));
}

/** The item of the request; undefined also where its body is cut, malformed or too large. */
async function itemOf(exchange: TrialExchange, limits: Limits): ReturnType<typeof namedItem> {
  const backend = exchange.route?.of?.backends.find(({ kind }) => kind === 'mcp');
  try {
    return await namedItem(backend?.kind === 'mcp' ? backend : undefined, exchange, limits);
  } catch (error) {
    // Expressions over the head need no body.
    if (error instanceof GatewayError) return undefined;
    throw error;
  }
}

const anyRequest = 'GET / HTTP/1.1\nHost: localhost';

const textOf = (claim: unknown): string => (typeof claim === 'string' ? claim : '');

async function tryRequest(request: TrialRequest, tools: ExplainTools): Promise<Tried | Decision> {
  const { snapshot, limits } = tools;
  const client = clientOf(request.client);
  const message = messageOf(request.request);
  const bytes = Buffer.from(message.head);
  const head = new Head(limits.maxHeaders);
  const result = parseRequest(bytes, 0, bytes.length, head, limits);
  head.text = bytes.toString('latin1', 0, head.length);
  const bind = bindFor(snapshot, request, result === COMPLETE ? head.get('host') : undefined);
  if (result !== COMPLETE) {
    const error = result === 0 ? 'bad_request' : refusal(result);
    return refusedHead(bind.key, error, head.problem === '' ? 'the head is not complete' : head.problem);
  }
  const target = readTarget(head.target, head.method);
  if (target === undefined) return refusedHead(bind.key, 'bad_request', 'malformed request target');
  const named = head.host === -1 ? undefined : parseAuthority(head.value(head.host));
  if (named === undefined && head.host !== -1) return refusedHead(bind.key, 'bad_host', 'malformed Host');
  const authority = target.authority ?? named;
  const host = authority?.host ?? '';
  const listener = bind.secure ? snapshot.bind(bind.key, true)?.find(host) : undefined;
  const ended = Promise.withResolvers<void>();
  let decision: Decision | undefined;
  let mcp: readonly ExplainedMessage[] | undefined;
  const port: ExchangePort = {
    key: bind.key,
    inner: false,
    log: tools.log,
    limits,
    trustedProxies: tools.trustedProxies,
    // A trial is no operation of a caller.
    audit: undefined,
    tracing: undefined,
    enter: () => snapshot,
    tooMuch: () => undefined,
    keepLongLived: () => () => undefined,
    observe: (exchange) => {
      decision = decisionOf(exchange, mcp);
    },
    // Nothing is counted, and the decision has the reason.
    expressionFailed: undefined,
    refusedLate: undefined,
    finished: () => ended.resolve(),
  };
  const side = new TrialSide(
    port,
    client,
    listener === undefined
      ? undefined
      : {
          listener: listener.name,
          terms: listener.handshake?.terms,
          serverName: host,
          certificate: undefined,
        },
  );
  snapshot.enter();
  const exchange = new TrialExchange(side, head, snapshot, {
    method: head.method,
    target: target.target,
    path: target.path,
    query: target.query,
    host,
    authority: authority?.authority ?? '',
  });
  if (head.chunked) exchange.body.startChunked();
  else exchange.body.startLength(Math.max(0, head.contentLength));
  const { maxBodyBytes } = limits;
  exchange.receive(Buffer.from(message.body), maxBodyBytes);
  exchange.judge = async () => {
    mcp = await judged(exchange, limits);
  };
  const notes: NonNullable<TrialExchange['trial']>['notes'] = new Map();
  let fault: Error | undefined;
  exchange.trial = {
    claims: request.claims,
    step: undefined,
    notes,
    routeFor(chosen) {
      if (request.rule === undefined) return chosen;
      try {
        return withChangedRule(chosen, request.rule);
      } catch (error) {
        // The request ends as every other, so that nothing of it stays.
        fault = errorOf(error);
        return chosen;
      }
    },
    note(what) {
      if (this.step !== undefined) notes.set(this.step, { what, skipped: false });
    },
  };
  if (maxBodyBytes !== 0 && head.contentLength > maxBodyBytes)
    exchange.fail(new GatewayError('body_too_large'));
  else handle(exchange, bind.key);
  await ended.promise;
  if (fault !== undefined) throw fault;
  if (decision === undefined) throw new Error('the request was not explained');
  return { exchange, decision, mcp: mcp ?? [] };
}

/** The parts of a request that was written by hand: its length is that of its body where the text does not say it. */
function messageOf(text: string): { readonly head: string; readonly body: string } {
  const end = /\r?\n\r?\n/.exec(text);
  const head = (end === null ? text : text.slice(0, end.index)).trim().split(/\r?\n/);
  const written = end === null ? '' : text.slice(end.index + end[0].length);
  const framed = head.some((line) => /^(?:content-length|transfer-encoding)\s*:/i.test(line));
  // A file ends with a line break, a body on the wire does not.
  const body = framed ? written : written.replace(/\r?\n$/, '');
  if (body !== '' && !framed) head.push(`content-length: ${Buffer.byteLength(body)}`);
  return { head: `${head.join('\r\n')}\r\n\r\n`, body };
}

interface ChosenBind {
  readonly key: string;
  /** All of its HTTP listeners are under TLS. */
  readonly secure: boolean;
}

/** The address of the client in the form that rules compare. @throws Error */
function clientOf(address = '127.0.0.1'): string {
  if (isIP(address) === 0) throw new Error(`the client ${JSON.stringify(address)} is no IP address`);
  return canonical(address);
}

/** The bind of a port, of the port in Host, or the first bind for HTTP. @throws Error */
function bindFor(
  { model }: Snapshot,
  { port, bind: key }: Pick<TrialRequest, 'port' | 'bind'>,
  host: string | undefined,
): ChosenBind {
  const binds = model.binds.flatMap((bind, index) => {
    const protocols = bind.listeners.map(({ protocol }) => protocol);
    const secure = !protocols.includes('HTTP');
    const isHttp = protocols.some((protocol) => protocol === 'HTTP' || protocol === 'HTTPS');
    return isHttp ? [{ port: bind.port, key: bindKey(bind, index), secure }] : [];
  });
  const named = binds.find((bind) => bind.key === key);
  if (named !== undefined) return named;
  const asked = port ?? Number(/:(\d+)$/.exec(host ?? '')?.[1] ?? Number.NaN);
  const found = binds.find((bind) => bind.port === asked) ?? (port === undefined ? binds[0] : undefined);
  if (found === undefined)
    throw new Error(
      port === undefined ? 'no port is served over HTTP' : `port ${port} is not served over HTTP`,
    );
  return found;
}

const refusedHead = (bind: string, error: ErrorCode, reason: string): Decision => ({
  bind,
  candidates: [],
  policies: [],
  outcome: { kind: 'refused', status: catalogue[error].status, error, reason },
});

/** The verdicts about the messages for an MCP backend; undefined for other backends. */
async function judged(
  exchange: TrialExchange,
  limits: Limits,
): Promise<readonly ExplainedMessage[] | undefined> {
  const { route, backend: key } = exchange;
  const backend = route?.of?.backends.find((one) => one.key === key);
  if (backend?.kind !== 'mcp') {
    exchange.checkBody();
    return undefined;
  }
  const origins = (route?.refuseMcpItem ?? []).flatMap((step) => originOf(step) ?? []);
  const verdicts = await judgeMessages(
    backend,
    callerOf(exchange, {}, undefined),
    exchange,
    limits,
    (item, call) =>
      origins.flatMap(({ explain: rulesOf, place: above }) =>
        (rulesOf?.(exchange, item, call) ?? []).map((rule) => ({ ...rule, place: `${above}${rule.place}` })),
      ),
  );
  return verdicts.map(([verdict, rules = []]) => (rules.length === 0 ? verdict : { ...verdict, rules }));
}

function outcomeOf(
  { outcome }: Decision,
  { reachedBackend, notEvaluated }: TrialExchange,
  mcp: readonly ExplainedMessage[],
): DecisionOutcome {
  if (notEvaluated !== undefined) return { kind: 'not evaluated', reason: notEvaluated };
  if (!reachedBackend) return outcome;
  const open = mcp.find(({ verdict }) => verdict === 'not evaluated');
  const some = (kind: McpVerdict['verdict']): boolean => mcp.some(({ verdict }) => verdict === kind);
  if (open !== undefined && !(some('refused') && some('forwarded')))
    return {
      kind: 'not evaluated',
      ...(open.because === undefined ? {} : { reason: open.because }),
    };
  const [first] = mcp;
  if (first === undefined || some('forwarded')) return { kind: 'forwarded' };
  const { status, error, policy, rule, place, because } = first;
  return {
    kind: 'refused',
    ...(status === undefined ? {} : { status }),
    ...(error === undefined ? {} : { error }),
    ...(because === undefined ? {} : { reason: because }),
    ...(policy === undefined ? {} : { policy }),
    ...(rule === undefined ? {} : { rule }),
    ...(place === undefined ? {} : { place }),
  };
}
