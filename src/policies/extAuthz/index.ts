import { GatewayError, NotEvaluated } from '../../errors.ts';
import { messageOf } from '../../errorText.ts';
import type { Reply } from '../../http/index.ts';
import { LogThrottle } from '../../telemetry/index.ts';
import type { Exchange, Policy, PolicyTools } from '../policy.ts';
import { applyAllowed, type Decision } from './decision.ts';
import { extAuthzSchema, type ExtAuthzSettings } from './facts.ts';
import { GrpcService } from './grpcService.ts';
import { HttpService } from './httpService.ts';
import { NoDecision, type Service } from './service.ts';

/** Asks a service outside about each request (external authorization). */
export const extAuthz: Policy<ExtAuthzSettings> = {
  schema: extAuthzSchema,
  prepare(settings, tools) {
    const { protocol } = settings;
    const service: Service =
      protocol.kind === 'grpc'
        ? new GrpcService(settings, protocol, tools)
        : new HttpService(settings, protocol, tools);
    const gate = new Gate(service, settings.failureMode, tools);
    return { onRequest: (exchange) => gate.pass(exchange), waits: true };
  },
};

/** Milliseconds between two messages about a service that goes on to fail. */
const reportMs = 10_000;

/** Lets those requests pass that a service allows. */
class Gate {
  private readonly service: Service;
  private readonly failureMode: ExtAuthzSettings['failureMode'];
  private readonly tools: PolicyTools;
  private readonly reports = new LogThrottle(reportMs);

  constructor(service: Service, failureMode: ExtAuthzSettings['failureMode'], tools: PolicyTools) {
    this.service = service;
    this.failureMode = failureMode;
    this.tools = tools;
  }

  async pass(exchange: Exchange): Promise<Reply | undefined> {
    let decision: Decision;
    try {
      decision = await this.service.decide(exchange);
      if (decision.kind === 'allowed') applyAllowed(exchange, decision);
    } catch (error) {
      if (error instanceof NotEvaluated) throw error;
      return this.undecided(exchange, error);
    }
    const { metadata } = decision;
    if (Object.keys(metadata).length > 0) exchange.authorized = { ...exchange.authorized, ...metadata };
    if (decision.kind === 'allowed') return undefined;
    exchange.request.annotate('extAuthz', 'refused by the service');
    if (decision.reply === undefined) throw new GatewayError('ext_authz_denied');
    return decision.reply;
  }

  /** An answer that cannot be used may be a refusal: only a service that gives none can let a request pass. */
  private undecided(exchange: Exchange, error: unknown): Reply | undefined {
    const { failureMode, service } = this;
    const reason = messageOf(error);
    const passes = failureMode === 'allow' && error instanceof NoDecision;
    if (this.reports.take())
      this.tools.log.warn(
        `External authorization failed: ${passes ? 'the request passed' : 'request refused'}`,
        {
          service: service.name,
          reason,
        },
      );
    if (passes) {
      exchange.request.annotate('extAuthz', 'not asked');
      return undefined;
    }
    if (typeof failureMode !== 'number') throw new GatewayError('ext_authz_failed', { detail: reason });
    exchange.request.annotate('extAuthz', reason);
    return {
      status: failureMode,
      headers: [['content-type', 'text/plain; charset=utf-8']],
      body: 'the authorization service gave no decision\n',
    };
  }
}
