import { hideSecretForms, type Counter, type Metrics } from '../telemetry/index.ts';
import { exchangeRecord } from './exchange/accessRecords.ts';
import { decisionOf } from './exchange/decision.ts';
import type { LiveExchange } from './exchange/liveExchange.ts';

/** Records a second: of refusals and errors always, and of all requests while an operator watches. */
const most = { refusals: 50, watched: 100 };
/** Characters of a record. */
const longest = 32_768;

/**
 * Makes records of finished requests: of refusals and errors always, of all others only while an operator watches. A
 * record is the line of the access log with the decision, as JSON. Records beyond the rate are dropped and counted; the
 * next record begins with their number. A flood of served requests leaves room for refusals.
 */
export class RequestObserver {
  /** An operator watches. */
  watched = false;
  private readonly take: (json: string) => void;
  private readonly dropped: Counter;
  private readonly errorAnswers: Counter;
  private second = 0;
  /** In this second. */
  private made = { refusals: 0, others: 0 };
  /** Since the last record. */
  private skipped = 0;

  /** @param take gets each record */
  constructor(take: (json: string) => void, metrics: Metrics) {
    this.take = take;
    this.dropped = metrics.counter(
      'request_records_dropped_total',
      'Records of requests that were left out of /api/v1/requests.',
      [],
    );
    this.errorAnswers = metrics.counter(
      'mcp_error_answers_total',
      'MCP requests that the gateway answered with an error of JSON-RPC in a response of a status below 500.',
      [],
    );
  }

  /** Looks at a request that is about to end. Never throws. */
  observe(exchange: LiveExchange): void {
    const refused = isRefused(exchange);
    if (refused && !exchange.relayed && isErrorAnswer(exchange)) this.errorAnswers.add({}, 1);
    if (exchange.relayed || (!refused && (!this.watched || isOwn(exchange)))) return;
    if (!this.takesRoom(refused)) {
      this.dropped.add({}, 1);
      this.skipped++;
      return;
    }
    const ms = performance.now() - exchange.startedTick;
    try {
      const record = {
        ...(this.skipped > 0 && { skippedBefore: this.skipped }),
        ...exchangeRecord(exchange, exchange.connection.port.key, ms),
      };
      this.skipped = 0;
      const json = JSON.stringify({ ...record, decision: decisionOf(exchange) }, redacted);
      if (json.length <= longest) this.take(json);
      else this.take(JSON.stringify(record, redacted));
    } catch (error) {
      exchange.connection.broken(error);
    }
  }

  private takesRoom(refused: boolean): boolean {
    const second = Math.floor(performance.now() / 1_000);
    if (second !== this.second) {
      this.second = second;
      this.made = { refusals: 0, others: 0 };
    }
    if (refused && this.made.refusals < most.refusals) return ++this.made.refusals > 0;
    return this.watched && this.made.others < most.watched && ++this.made.others > 0;
  }
}

/** A console that shows requests makes more of them. */
const isOwn = ({ route }: LiveExchange): boolean => route?.of?.backends[0]?.kind === 'console';

/** Requests that the gateway refused, or that failed. */
const isRefused = ({ error, decidedBy, status }: LiveExchange): boolean =>
  error !== undefined || (decidedBy !== undefined && (status >= 400 || decidedBy.rule !== undefined));

/** A call of MCP failed, and the status does not tell so. */
const isErrorAnswer = ({ extra, status }: LiveExchange): boolean =>
  extra?.['mcp.outcome'] === 'error' && status < 500;

const redacted = (_name: string, value: unknown): unknown =>
  typeof value === 'string' ? hideSecretForms(value) : value;
