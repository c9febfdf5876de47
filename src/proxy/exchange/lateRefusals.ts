import type { DecidedBy } from '../../errors.ts';
import { shownBeginning, ThrottledLog, type Logger } from '../../telemetry/index.ts';
import type { LiveExchange } from './liveExchange.ts';

/** At most 50 lines a second, as many as records of refusals. */
const everyMs = 20;
/** Characters of the name of an item. The address of a resource can hold a secret, as in the access log. */
const maxName = 200;

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
      ...(item && { [`mcp.${item.kind}`]: shownBeginning(item.name, maxName) }),
      policy,
      rule,
      place,
    });
  }
}
