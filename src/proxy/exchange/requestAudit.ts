import {
  refusedRequest,
  type Audit,
  type AuditedCaller,
  type AuditedDetails,
  type AuditedEnd,
  type AuditedOperation,
} from '../../audit/index.ts';
import { catalogue, type ErrorCode } from '../../errors.ts';
import type {
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

  begin({ operation, id, bytes, details }: OperationStart): OperationRecord | undefined {
    const { exchange, audit } = this;
    exchange.recorded = true;
    if (!audit.includes(operation)) return undefined;
    const since = performance.now();
    const open = audit.begin(
      requestOf(exchange, audit, {
        time: Date.now(),
        operation,
        rpcId: id,
        details: details && detailsOf(details, audit),
        bytesIn: bytes,
        traceId: traceIdOf(exchange),
      }),
    );
    return {
      end: (end) => open.end(endOf(exchange, end, performance.now() - since)),
      closed: (handed) => {
        if (!handed || exchange.status >= 400) open.end(endOfExchange(exchange, performance.now() - since));
      },
    };
  }
}

/** The details as lines show them. */
const detailsOf =
  (read: () => OperationDetails, { argumentsOf }: Audit) =>
  (): AuditedDetails => {
    const { item, arguments: given, traceparent } = read();
    return {
      kind: item?.kind,
      name: item?.name,
      arguments: given === undefined ? undefined : argumentsOf?.(given),
      traceId: traceparent === undefined ? undefined : parseTraceparent(traceparent)?.traceId,
    };
  };

/** Records a request to an MCP route that ended with an error before it was an operation. */
export function recordRefusal(exchange: LiveExchange, audit: Audit): void {
  const { route, status, recorded, relayed } = exchange;
  if (recorded || relayed || status < 400) return;
  if (route?.of?.backends.some(({ kind }) => kind === 'mcp') !== true) return;
  audit.record(
    requestOf(exchange, audit, {
      time: exchange.startedAt,
      operation: refusedRequest,
      traceId: traceIdOf(exchange),
    }),
    endOfExchange(exchange, performance.now() - exchange.startedTick),
  );
}

/** Written out: copies of objects with optional members would cost as much as the line. */
function requestOf(
  exchange: LiveExchange,
  audit: Audit,
  operation: Omit<AuditedOperation, 'caller'>,
): AuditedOperation {
  return {
    time: operation.time,
    operation: operation.operation,
    rpcId: operation.rpcId,
    details: operation.details,
    bytesIn: operation.bytesIn,
    caller: callerOf(exchange, audit),
    requestId: exchange.id,
    isRequestIdMade: exchange.hasMadeId,
    traceId: operation.traceId,
    listener: exchange.listener?.name,
    route: exchange.route?.name,
  };
}

/** The trace of a request: that of its client, or the one that the gateway has begun for it. */
function traceIdOf({ head, span }: LiveExchange): string | undefined {
  const header = head.get('traceparent');
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
  exchange: LiveExchange,
  { outcome, code, error, refusal, bytes, target }: OperationEnd,
  durationMs: number,
): AuditedEnd {
  const by = typeof refusal === 'object' ? refusal : undefined;
  return {
    session: annotated(exchange, 'mcp.session'),
    outcome,
    code,
    error,
    durationMs,
    bytesOut: bytes,
    target: target ?? annotated(exchange, 'mcp.target'),
    policy: by?.policy,
    rule: by?.rule,
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
    target: annotated(exchange, 'mcp.target'),
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
