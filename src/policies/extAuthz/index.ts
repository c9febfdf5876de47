import { GatewayError, NotEvaluated } from '../../errors.ts';
import { messageOf } from '../../errorText.ts';
import type { Reply } from '../../http/index.ts';
import type { Exchange, Policy, PolicyTools } from '../policy.ts';
import { serverReports } from '../serverReports.ts';
import { applyAllowed, type Decision } from './decision.ts';
import { extAuthzSchema, type ExtAuthzSettings } from './facts.ts';
import { GrpcService } from './grpcService.ts';
import { HttpService } from './httpService.ts';
import { KeptDecisions } from './keptDecisions.ts';
import { NoDecision, type Service } from './service.ts';

/** Asks a service outside about each request (external authorization). */
export const extAuthz: Policy<ExtAuthzSettings> = {
  schema: extAuthzSchema,
  prepare(settings, tools) {
    const { protocol } = settings;
    const service: Service =
      protocol.name === 'grpc'
        ? new GrpcService(settings, protocol, tools)
        : new HttpService(settings, protocol, tools);
    const gate = new Gate(service, settings, tools);
    return { onRequest: (exchange) => gate.pass(exchange), waits: true };
  },
};

/** Lets those requests pass that a service allows. */
class Gate {
  private readonly service: Service;
  private readonly failureMode: ExtAuthzSettings['failureMode'];
  private readonly mostBody: number | undefined;
  private readonly kept: KeptDecisions | undefined;
  private readonly report: ReturnType<typeof serverReports>;

  constructor(service: Service, { failureMode, body, cache }: ExtAuthzSettings, tools: PolicyTools) {
    this.service = service;
    this.failureMode = failureMode;
    this.report = serverReports(service.name, tools);
    this.mostBody = body?.most;
    this.kept = cache && new KeptDecisions(cache, tools);
  }

  pass(exchange: Exchange): Reply | undefined | Promise<Reply | undefined> {
    const { kept } = this;
    // An explanation tells that the service is asked.
    const key = exchange.trial === undefined ? kept?.keyOf(exchange) : undefined;
    const known = key === undefined ? undefined : kept?.get(key);
    if (known === undefined) return this.ask(exchange, key);
    exchange.request.annotate('extAuthz', 'a kept decision');
    if (known.kind === 'allowed') applyAllowed(exchange, known);
    note(exchange, known);
    return settled(known);
  }

  private async ask(exchange: Exchange, key: string | undefined): Promise<Reply | undefined> {
    const body = await this.bodyOf(exchange);
    let decision: Decision;
    try {
      decision = await this.service.decide(exchange, body);
      if (decision.kind === 'allowed') applyAllowed(exchange, decision);
    } catch (error) {
      if (error instanceof NotEvaluated) throw error;
      return this.undecided(exchange, error);
    }
    note(exchange, decision);
    if (decision.kind === 'denied') exchange.request.annotate('extAuthz', 'refused by the service');
    if (key !== undefined && !('once' in decision)) this.kept?.keep(key, decision, exchange);
    return settled(decision);
  }

  /** An explanation asks no service, so it needs no body. @throws GatewayError where the body is too large, or broken */
  private async bodyOf(exchange: Exchange): Promise<Buffer | undefined> {
    if (this.mostBody === undefined || exchange.trial !== undefined) return undefined;
    return await exchange.holdBody?.(this.mostBody);
  }

  /** An answer that cannot be used may be a refusal: only a service that gives none can let a request pass. */
  private undecided(exchange: Exchange, error: unknown): Reply | undefined {
    const { failureMode, service } = this;
    const reason = messageOf(error);
    const passes = failureMode === 'allow' && error instanceof NoDecision;
    this.report(`External authorization failed: ${passes ? 'the request passed' : 'request refused'}`, {
      reason,
    });
    if (passes) {
      exchange.request.annotate('extAuthz', 'not asked');
      // The backend takes these headers for those of the service.
      for (const name of service.ownHeaders) exchange.requestHeaders.remove(name);
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

/** Later expressions read the values of a decision. */
function note(exchange: Exchange, { metadata }: Decision): void {
  if (Object.keys(metadata).length > 0) exchange.authorized = { ...exchange.authorized, ...metadata };
}

/** @throws GatewayError for a refusal that has no response of its own */
function settled(decision: Decision): Reply | undefined {
  if (decision.kind === 'allowed') return undefined;
  if (decision.reply === undefined) throw new GatewayError('ext_authz_denied');
  return decision.reply;
}
