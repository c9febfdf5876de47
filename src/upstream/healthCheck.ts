import type { HealthCheck } from '../model/index.ts';
import type { Logger } from '../telemetry/index.ts';
import type { Body, Head } from '../http/index.ts';
import type { Endpoint, UpstreamConnection } from './upstreamConnection.ts';
import type { ExchangeHandler } from './handlers.ts';

/**
 * Asks one address again and again whether it works. Each check opens a connection of its own: one that is kept may
 * work where no new one would.
 */
export class Checks {
  private readonly endpoint: Endpoint;
  private readonly settings: HealthCheck;
  private readonly request: string;
  private readonly log: Logger;
  private timer: NodeJS.Timeout;
  private running: Check | undefined;
  private streak = 0;
  private stopped = false;

  /** @param host `Host` of the requests where the settings name none */
  constructor(endpoint: Endpoint, settings: HealthCheck, host: string, log: Logger) {
    this.endpoint = endpoint;
    this.settings = settings;
    this.log = log;
    this.request = `GET ${settings.path} HTTP/1.1\r\nhost: ${settings.host ?? host}\r\nuser-agent: portcullis-health\r\nconnection: close\r\n\r\n`;
    // The first one soon, at another moment for each address.
    this.timer = this.plan(Math.random() * Math.min(1_000, settings.intervalMs));
  }

  stop(): void {
    this.stopped = true;
    clearTimeout(this.timer);
    this.running?.cancel();
  }

  private plan(ms: number): NodeJS.Timeout {
    const timer = setTimeout(() => this.ask(), ms);
    timer.unref();
    return timer;
  }

  private ask(): void {
    this.running = new Check(this.endpoint, this.request, this.settings.timeoutMs, (status, problem) => {
      this.running = undefined;
      if (this.stopped) return;
      this.judge(status, problem);
      this.timer = this.plan(this.settings.intervalMs);
    });
  }

  private judge(status: number, problem: string): void {
    const { endpoint, settings } = this;
    const { health, stats } = endpoint;
    const passed = settings.statuses.some(({ from, to }) => status >= from && status <= to);
    if (passed) stats.checksPassed++;
    else stats.checksFailed++;
    if (passed === health.healthy) {
      this.streak = 0;
      return;
    }
    this.streak++;
    if (this.streak < (passed ? settings.healthyThreshold : settings.unhealthyThreshold)) return;
    this.streak = 0;
    health.judge(passed);
    if (passed) this.log.info('Backend address healthy again', { endpoint: endpoint.name });
    else this.log.warn('Backend address unhealthy', { endpoint: endpoint.name, problem });
  }
}

/** A health check request; `done` is called once, with status 0 if there was no answer in time. */
class Check implements ExchangeHandler {
  private readonly connection: UpstreamConnection;
  private readonly timer: NodeJS.Timeout;
  private done: ((status: number, problem: string) => void) | undefined;

  constructor(
    endpoint: Endpoint,
    request: string,
    timeoutMs: number,
    done: (status: number, problem: string) => void,
  ) {
    this.done = done;
    this.timer = setTimeout(() => this.finish(0, 'no answer in time'), timeoutMs);
    this.timer.unref();
    this.connection = endpoint.takeForCheck();
    this.connection.begin(this, false, false);
    this.connection.write(request);
    this.connection.sent();
  }

  cancel(): void {
    this.finish(0, 'stopped');
  }

  onInformational(): void {
    // Only the answer tells something.
  }

  onAnswer(head: Head, _bytes: Buffer, _from: number, _to: number, _body: Body): boolean {
    this.finish(head.status, `status ${head.status}`);
    return true;
  }

  onBody(): boolean {
    return true;
  }

  onFailure(_code: string, detail: string): void {
    this.finish(0, detail);
  }

  onWritable(): void {
    // The request is small enough to be written at once.
  }

  private finish(status: number, problem: string): void {
    const { done } = this;
    this.done = undefined;
    clearTimeout(this.timer);
    if (done === undefined) return;
    // The rest of the answer does not matter.
    this.connection.abandon();
    done(status, problem);
  }
}
