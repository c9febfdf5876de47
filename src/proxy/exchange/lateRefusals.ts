import type { DecidedBy } from '../../errors.ts';
import { ThrottledLog, type Logger } from '../../telemetry/index.ts';
import type { LiveExchange } from './liveExchange.ts';

/** At most 50 lines a second, as many as records of refusals. */
const everyMs = 20;

/**
 * Logs the refusals of MCP requests whose HTTP exchange was over before: the access log has its line by then. Over
 * HTTP+SSE, every call is such a request, since its POST ends with 202.
 */
export class LateRefusals {
  private readonly log: ThrottledLog;

  constructor(log: Logger) {
    this.log = new ThrottledLog(log, 'MCP request refused after the end of its HTTP exchange', everyMs);
  }

  note({ id, route, extra, item }: LiveExchange, { policy, rule, place }: DecidedBy): void {
    this.log.warn({
      id,
      route: route?.name,
      'mcp.method': extra?.['mcp.method'],
      'mcp.session': extra?.['mcp.session'],
      ...(item && { [`mcp.${item.kind}`]: item.name }),
      policy,
      rule,
      place,
    });
  }
}
