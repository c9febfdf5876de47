import {
  LiveOperation,
  maxKept,
  operationOf,
  refusedRequest,
  type Audit,
  type AuditedCaller,
  type AuditedDetails,
  type AuditedEnd,
  type AuditedOperation,
} from '../../audit/index.ts';
import { catalogue, type ErrorCode } from '../../errors.ts';
import type {
  OperationAnswer,
  OperationDetails,
  OperationEnd,
  OperationRecord,
  OperationStart,
  RequestAudit,
} from '../../mcp/index.ts';
import { parseTraceparent } from '../../telemetry/index.ts';
import type { LiveExchange } from './liveExchange.ts';

/** Records the operations of a request to an MCP backend. */
export class ExchangeAudit implements RequestAudit {
  private readonly exchange: LiveExchange;
  private readonly audit: Audit;
  /** The last operation; each leads to the one before it. */
  private last: ExchangeOperation | undefined;
  private outlives = false;

  constructor(exchange: LiveExchange, audit: Audit) {
    this.exchange = exchange;
    this.audit = audit;
  }

  get showsArguments(): boolean {
    return this.audit.argumentsOf !== undefined;
  }

  get settled(): Promise<void> | undefined {
    const { settled } = this.audit;
    settled?.catch(() => this.audit.countRefusal());
    return settled;
  }

  begin(start: OperationStart): OperationRecord | undefined {
    const { exchange, audit } = this;
    exchange.recorded = this;
    const operation = start.read === undefined ? start.operation : operationOf(start.operation);
    if (!audit.includes(operation)) return undefined;
    const record = new ExchangeOperation(exchange, audit, operation, start, this.last);
    this.last = record;
    audit.begin(record);
    return record;
  }

  outlive(): void {
    this.outlives = true;
  }

  /** The exchange is over: operations without an answer of their own end with it. */
  closed(): void {
    if (this.outlives && this.exchange.status < 400) return;
    for (let one = this.last; one !== undefined; one = one.before) one.closed();
  }
}

/** An operation of a request. Its line is made when the exchange may be over, so it holds nothing of it by then. */
class ExchangeOperation extends LiveOperation implements OperationRecord {
  /** Undefined once the operation is over: an exchange may hold a whole body. */
  private exchange: LiveExchange | undefined;
  private readonly audit: Audit;
  /** Undefined where the beginning is kept. */
  private start: OperationStart | undefined;
  /** The operation of the same request before it. */
  readonly before: ExchangeOperation | undefined;
  /** Read at once: a closed socket may no longer know its other end, and the head may be another request's. */
  private readonly request: AuditedOperation;
  private readonly since = performance.now();
  private durationMs = 0;
  private answer: OperationAnswer | undefined;
  private session: string | undefined;

  constructor(
    exchange: LiveExchange,
    audit: Audit,
    operation: string,
    start: OperationStart,
    before: ExchangeOperation | undefined,
  ) {
    super();
    this.before = before;
    this.exchange = exchange;
    this.audit = audit;
    this.start = start;
    const time = Math.floor(exchange.startedAt + this.since - exchange.startedTick);
    this.request = requestOf(exchange, audit, time, operation);
    if (start.size <= maxKept) return;
    this.keepBeginning();
    this.start = undefined;
  }

  override get isLight(): boolean {
    return this.start !== undefined && (this.answer === undefined || this.answer.size <= maxKept);
  }

  answered(answer: OperationAnswer): void {
    const { exchange } = this;
    if (exchange === undefined) return;
    this.durationMs = performance.now() - this.since;
    this.answer = answer;
    this.session = annotated(exchange, 'mcp.session');
    this.exchange = undefined;
    this.audit.end(this);
  }

  closed(): void {
    const { exchange } = this;
    if (exchange === undefined) return;
    this.exchange = undefined;
    this.audit.end(this, endOfExchange(exchange, performance.now() - this.since));
  }

  protected override readBeginning(): AuditedOperation {
    const { request, start, audit } = this;
    const details = start!.read?.();
    if (details === undefined) return request;
    // Written out: copies of objects with optional members would cost as much as the line.
    return {
      time: request.time,
      operation: request.operation,
      rpcId: details.id,
      details: detailsOf(details, audit),
      bytesIn: details.bytes,
      caller: request.caller,
      requestId: request.requestId,
      isRequestIdMade: request.isRequestIdMade,
      traceId: request.traceId,
      listener: request.listener,
      route: request.route,
    };
  }

  protected override readEnd(): AuditedEnd {
    return endOf(this.session, this.answer!.read(), this.durationMs);
  }
}

/** The details as lines show them. */
function detailsOf(
  { item, arguments: given, traceparent }: OperationDetails,
  { argumentsOf }: Audit,
): AuditedDetails {
  return {
    kind: item?.kind,
    name: item?.name,
    arguments: given === undefined ? undefined : argumentsOf?.(given),
    traceId: traceparent === undefined ? undefined : parseTraceparent(traceparent)?.traceId,
  };
}

/** Records the end of a request, and of one to an MCP route that ended with an error before it was an operation. */
export function recordEnd(exchange: LiveExchange, audit: Audit): void {
  const { route, status, recorded, relayed } = exchange;
  if (recorded !== undefined) {
    recorded.closed();
    return;
  }
  if (relayed || status < 400) return;
  if (route?.of?.backends.some(({ kind }) => kind === 'mcp') !== true) return;
  audit.record(
    requestOf(exchange, audit, exchange.startedAt, refusedRequest),
    endOfExchange(exchange, performance.now() - exchange.startedTick),
  );
}

/** @param time milliseconds since the epoch */
function requestOf(exchange: LiveExchange, audit: Audit, time: number, operation: string): AuditedOperation {
  return {
    time,
    operation,
    caller: callerOf(exchange, audit),
    requestId: exchange.id,
    isRequestIdMade: exchange.hasMadeId,
    traceId: traceIdOf(exchange),
    listener: exchange.listener?.name,
    route: exchange.route?.name,
  };
}

/** The trace of a request: that of its client, or the one that the gateway has begun for it. */
function traceIdOf({ closed, head, span }: LiveExchange): string | undefined {
  const header = closed ? undefined : head.get('traceparent');
  const given = header === undefined ? undefined : parseTraceparent(header);
  return given?.traceId ?? span?.server.place.traceId;
}

function callerOf(exchange: LiveExchange, { settings: { groupsClaim } }: Audit): AuditedCaller {
  const { identity, user, apiKey, remoteAddress, remotePort } = exchange;
  const claims = identity?.claims;
  return {
    issuer: identity?.issuer,
    subject: identity?.subject,
    clientId: textClaim(claims?.['client_id'] ?? claims?.['azp']),
    groups: groupsClaim === undefined ? undefined : groupsOf(claims?.[groupsClaim]),
    user,
    apiKey: apiKey?.id,
    address: remoteAddress,
    port: remotePort,
  };
}

const textClaim = (claim: unknown): string | undefined => (typeof claim === 'string' ? claim : undefined);

/** A list of texts, or texts in one text with spaces between them. */
function groupsOf(claim: unknown): readonly string[] | undefined {
  if (typeof claim === 'string') return claim.split(' ').filter((group) => group !== '');
  if (!Array.isArray(claim)) return undefined;
  return claim.filter((group): group is string => typeof group === 'string');
}

const annotated = ({ extra }: LiveExchange, field: string): string | undefined => {
  const value = extra?.[field];
  return value === undefined ? undefined : String(value);
};

function endOf(
  session: string | undefined,
  { outcome, code, error, refusal, by, bytes, target }: OperationEnd,
  durationMs: number,
): AuditedEnd {
  const decidedBy = typeof refusal === 'object' ? refusal : by;
  return {
    session,
    outcome,
    code,
    error,
    durationMs,
    bytesOut: bytes,
    target,
    policy: decidedBy?.policy,
    rule: decidedBy?.rule,
    refusal: typeof refusal === 'string' ? refusal : undefined,
  };
}

/** The end of an operation that has no answer of its own: the HTTP exchange tells it. */
function endOfExchange(exchange: LiveExchange, durationMs: number): AuditedEnd {
  const { status, error, decidedBy, reason, responseBytes } = exchange;
  const code = exchange.extra?.['mcp.errorCode'];
  return {
    session: annotated(exchange, 'mcp.session'),
    outcome: outcomeOf(exchange),
    durationMs,
    httpStatus: status === 0 ? undefined : status,
    code: typeof code === 'number' ? code : undefined,
    error,
    detail: reason,
    bytesOut: responseBytes,
    refusal: annotated(exchange, 'mcp.refusal'),
    policy: decidedBy?.policy,
    rule: decidedBy?.rule,
  };
}

function outcomeOf(exchange: LiveExchange): AuditedEnd['outcome'] {
  const { status, error } = exchange;
  if (annotated(exchange, 'mcp.outcome') === 'refused') return 'refused';
  const source = error === undefined ? undefined : catalogue[error as ErrorCode]?.source;
  if (source === 'upstream') return 'error';
  if (status >= 400 || source !== undefined) return 'refused';
  return status === 0 ? 'unfinished' : 'ok';
}
