import { redactText, type Counter, type Metrics } from '../telemetry/index.ts';
import { exchangeRecord } from './exchange/accessRecords.ts';
import { decisionOf } from './exchange/decision.ts';
import type { LiveExchange } from './exchange/liveExchange.ts';

/** Records a second, for refusals and errors, and for all requests while an operator watches. */
const most = { refusals: 50, watched: 500 };
/** Characters of a record. */
const longest = 32_768;

/**
 * Makes records of finished requests: of refusals and errors always, of all others only while an operator watches. A
 * record is the line of the access log with the decision, as JSON. Records beyond the rate are dropped and counted.
 */
export class RequestObserver {
  /** An operator watches. */
  watched = false;
  private readonly take: (json: string) => void;
  private readonly dropped: Counter;
  private second = 0;
  private made = 0;

  /** @param take gets each record */
  constructor(take: (json: string) => void, metrics: Metrics) {
    this.take = take;
    this.dropped = metrics.counter(
      'request_records_dropped_total',
      'Records of requests that were left out of /api/v1/requests.',
      [],
    );
  }

  /** Looks at a request that is about to end. Never throws. */
  observe(exchange: LiveExchange): void {
    if (exchange.relayed || (!isRefused(exchange) && (!this.watched || isOwn(exchange)))) return;
    if (!this.hasRoom()) {
      this.dropped.add({}, 1);
      return;
    }
    const ms = performance.now() - exchange.startedTick;
    try {
      const record = exchangeRecord(exchange, exchange.connection.port.key, ms);
      const json = JSON.stringify({ ...record, decision: decisionOf(exchange) }, redacted);
      if (json.length <= longest) this.take(json);
      else this.take(JSON.stringify(record, redacted));
    } catch (error) {
      exchange.connection.broken(error);
    }
  }

  private hasRoom(): boolean {
    const second = Math.floor(performance.now() / 1_000);
    if (second !== this.second) {
      this.second = second;
      this.made = 0;
    }
    this.made++;
    return this.made <= (this.watched ? most.watched : most.refusals);
  }
}

/** A console that shows requests makes more of them. */
const isOwn = ({ route }: LiveExchange): boolean => route?.of?.backends[0]?.kind === 'console';

/** Requests that the gateway refused, or that failed. */
const isRefused = ({ error, decidedBy, status }: LiveExchange): boolean =>
  error !== undefined || (decidedBy !== undefined && (status >= 400 || decidedBy.rule !== undefined));

const redacted = (_name: string, value: unknown): unknown =>
  typeof value === 'string' ? redactText(value) : value;
