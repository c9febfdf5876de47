import type { CompiledRecord, ComputedFields, EndedRequest } from '../../policies/index.ts';
import type { LiveExchange } from './liveExchange.ts';

/** Computes the added fields of the access log line, or notes that the request has no line. Never throws. */
export function noteFields(exchange: LiveExchange, record: CompiledRecord): void {
  if (exchange.relayed || exchange.trial !== undefined) return;
  const added = computedFields(exchange, record);
  if (added === undefined) exchange.unlogged = true;
  else exchange.added = added;
}

/** @returns undefined where the filter of the record leaves the request out */
export function computedFields(exchange: LiveExchange, record: CompiledRecord): ComputedFields | undefined {
  try {
    return record.of(exchange, endedRequest(exchange));
  } catch (error) {
    exchange.connection.broken(error);
    return {};
  }
}

function endedRequest(exchange: LiveExchange): EndedRequest {
  const { status, startedTick, upstreamTick, upstreamMs, responseLines = [] } = exchange;
  const answered = upstreamMs === undefined ? undefined : upstreamTick + upstreamMs;
  const method = exchange.extra?.['mcp.method'];
  return {
    status,
    endedAt: Date.now(),
    responseLines,
    credentials: () => exchange.route?.credentials.flatMap((textsOf) => textsOf(exchange)) ?? [],
    timing:
      upstreamTick === 0
        ? undefined
        : {
            requestMs: upstreamTick - startedTick,
            upstreamMs,
            responseMs: answered === undefined ? undefined : performance.now() - answered,
          },
    backend: backendOf(exchange),
    mcp: { methodName: method === undefined ? undefined : String(method), item: exchange.item },
  };
}

/** A route with backends of several kinds does not tell the kind of the chosen one, unless a policy asked for it. */
function backendOf({ backend, chosen, route }: LiveExchange): EndedRequest['backend'] {
  if (backend === undefined) return undefined;
  if (chosen !== undefined) return chosen;
  const [kind, ...others] = new Set(
    route?.of?.backends.map((each) => {
      if (!('host' in each)) return each.kind;
      return each.endpoints === undefined ? 'static' : 'service';
    }),
  );
  if (kind === undefined || others.length > 0 || kind === 'invalid')
    return { name: backend, type: undefined, protocol: undefined };
  return { name: backend, type: kind, protocol: kind === 'mcp' ? 'mcp' : 'http' };
}
