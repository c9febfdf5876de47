import { GatewayError } from '../../../errors.ts';
import { stackOf } from '../../../errorText.ts';
import type { HeaderLine } from '../../../http/index.ts';
import type { Limits, McpTarget, OpenApiTarget } from '../../../model/index.ts';
import { ThrottledLog, type Logger } from '../../../telemetry/index.ts';
import type { Reach } from '../../contract.ts';
import { CallTimeouts, type CallLimit } from '../../limits/callTimeouts.ts';
import { readEnvelope, type Envelope, type RpcId } from '../../json/envelope.ts';
import { renderOutgoing, type Outgoing } from '../../messages/outgoing.ts';
import { errorResponse, lateError, targetError } from '../../messages/rpcError.ts';
import { TransientMap } from '../../limits/transientMap.ts';
import { maxBacklog } from '../conversation/backlog.ts';
import { deliverResponse } from '../conversation/deliverResponse.ts';
import { connectionError } from '../conversation/failures.ts';
import { PendingCalls } from '../conversation/pendingCalls.ts';
import type {
  TargetConnection,
  TargetListener,
  TargetPlace,
  TargetState,
  TargetView,
  Waiter,
} from '../kind/target.ts';
import { ApiCall } from './apiCall.ts';
import { answerTo, type ToolCall } from './requestAnswer.ts';
import type { ApiTools } from './apiTools.ts';
import type { Descriptions, DescriptionUse } from './descriptions.ts';
import { StateClock } from '../kind/stateClock.ts';

export interface OpenApiOptions {
  readonly reach: Reach;
  readonly descriptions: Descriptions;
  readonly limits: () => Limits;
  readonly log: Logger;
  readonly listener: TargetListener;
  /** Calls that may wait for the API. */
  readonly maxPending: number;
}

/** The way of a call whose own header lines take the place of those of policies. An API gets no header of MCP. */
function withLines(reach: Reach, lines: readonly HeaderLine[] = []): Reach {
  const own = lines.filter(([name]) => !name.toLowerCase().startsWith('mcp-'));
  if (own.length === 0) return reach;
  const names = new Set(own.map(([name]) => name));
  return { ...reach, headers: [...reach.headers.filter(([name]) => !names.has(name)), ...own] };
}

const isOpenApi = (target: McpTarget | undefined): target is OpenApiTarget => target?.kind === 'openapi';

/**
 * A session with an HTTP API, for which the gateway is the MCP server: it answers every message itself, and a call of a
 * tool becomes one request of the API.
 */
export class OpenApiConnection implements TargetConnection {
  readonly name: string;
  readonly generation = 0;
  private readonly options: OpenApiOptions;
  private target: OpenApiTarget;
  private reach: Reach;
  private readonly clock = new StateClock();
  private version: string | undefined;
  private lastError: string | undefined;
  private description: DescriptionUse;
  /** The tools that the client knows, as far as it has listed them. */
  private listed: string | undefined;
  private readonly waiting: PendingCalls;
  private readonly clocks: CallTimeouts;
  private readonly underWay = new TransientMap<number, ApiCall>();
  private readonly trouble: ThrottledLog;
  private paused = false;

  /** @param firstId ids of calls begin behind it */
  constructor(target: OpenApiTarget, options: OpenApiOptions, firstId = 0) {
    this.name = target.name;
    this.target = target;
    this.options = options;
    this.reach = options.reach;
    this.waiting = new PendingCalls(firstId);
    this.description = this.describe(target);
    this.trouble = new ThrottledLog(options.log, 'Request to the API failed');
    this.clocks = new CallTimeouts(
      () => options.limits().maxMcpCallTimeMs,
      (wireId, limit) => this.late(wireId, limit),
    );
  }

  /** Goes on with a session that another process began: this kind of server keeps no state of it. */
  takeUp({ version }: TargetPlace): void {
    this.version = version;
    this.state = 'ready';
  }

  // TargetConnection

  use(reach: Reach): void {
    this.reach = reach;
    if (!isOpenApi(reach.settings) || reach.settings === this.target) return;
    const before = this.description;
    this.target = reach.settings;
    this.description = this.describe(reach.settings);
    before.release();
    this.changed();
  }

  open(out: Outgoing, waiter: Waiter): void {
    this.call(out, {
      answered: (response) => {
        if (!response.isError && this.state === 'starting') this.state = 'ready';
        waiter.answered(response);
      },
      failed: (error) => waiter.failed(error),
    });
  }

  call(out: Outgoing, waiter: Waiter): number {
    const refusal = this.refusal();
    if (refusal !== undefined) {
      waiter.failed(refusal);
      return 0;
    }
    const wireId = this.waiting.nextId();
    this.waiting.add(wireId, waiter);
    if (out.limit !== undefined) this.clocks.start(wireId, out.limit);
    void this.answer(wireId, out);
    return wireId;
  }

  send(): void {
    // No notification of a client concerns an API. The session itself forgets a cancelled call.
  }

  pending(wireId: RpcId): Waiter | undefined {
    return this.waiting.get(wireId);
  }

  calls(): Iterable<[number, Waiter]> {
    return this.waiting.all();
  }

  dropAbandoned(): boolean {
    const wireId = this.waiting.dropAbandoned();
    if (wireId === undefined) return false;
    this.forget(wireId);
    return true;
  }

  forget(wireId: number): void {
    this.waiting.forget(wireId);
    this.settled(wireId);
  }

  progressed(): void {
    // An API says nothing before its answer.
  }

  hold(waits: boolean): void {
    this.clocks.hold(waits);
  }

  get place(): TargetPlace | undefined {
    if (this.state !== 'ready') return undefined;
    return { serverSession: undefined, version: this.version, address: undefined };
  }

  leave(): () => Promise<void> {
    this.stop();
    return () => Promise.resolve();
  }

  pause(): void {
    this.paused = true;
    for (const one of this.underWay.values()) one.pause();
  }

  resume(): void {
    this.paused = false;
    for (const one of this.underWay.values()) one.resume();
  }

  tick(now: number): void {
    for (const one of this.underWay.values()) one.tick(now);
  }

  close(): Promise<void> {
    this.stop();
    return Promise.resolve();
  }

  private get state(): TargetState {
    return this.clock.state;
  }

  private set state(next: TargetState) {
    this.clock.state = next;
  }

  view(): TargetView {
    return {
      name: this.name,
      state: this.state,
      since: this.clock.since,
      pid: undefined,
      restarts: 0,
      pending: this.waiting.size,
      lastError: this.description.problem ?? this.lastError,
    };
  }

  // Answers

  /** Never rejects. */
  private async answer(wireId: number, out: Outgoing): Promise<void> {
    try {
      // The session expects its answer only when `call` has returned.
      await this.description.ready;
      const waiter = this.waiting.get(wireId);
      if (waiter === undefined) return;
      const { tools, problem } = this.description;
      if (tools === undefined) throw this.unavailable(problem);
      const request = readEnvelope(renderOutgoing(out, wireId));
      if (typeof request === 'string') throw new Error(`an edit broke the message: ${request}`);
      this.serve(wireId, request, tools, withLines(out.reach ?? this.reach, out.headers));
    } catch (error) {
      if (error instanceof GatewayError) this.failed(wireId, error);
      else this.broken(wireId, error);
    }
  }

  /** A defect must not take every other session down with it. */
  private broken(wireId: number, error: unknown): void {
    this.options.log.error('Call of the API could not be handled', { stack: stackOf(error) });
    this.failed(wireId, new GatewayError('internal_error', { cause: error }));
  }

  /** @throws GatewayError where there is no such thing */
  private serve(wireId: number, request: Envelope, tools: ApiTools, reach: Reach | undefined): void {
    const answer = answerTo(request, tools);
    if ('call' in answer) {
      this.callTool(wireId, answer.call, reach);
      return;
    }
    if (answer.protocolVersion !== undefined) this.version = answer.protocolVersion;
    if (answer.isList === true) this.listed = answer.result;
    this.result(wireId, answer.result);
  }

  private callTool(wireId: number, { operation, text }: ToolCall, reach = this.reach): void {
    const call = new ApiCall(
      {
        operation,
        arguments: text,
        reach,
        usesServerPath: this.target.usesServerPath === true,
        // A limit of the call's own takes the place of the general one.
        patient: reach.callTimeoutMs !== undefined || this.clocks.has(wireId),
        limits: this.options.limits(),
      },
      {
        result: (result) => this.result(wireId, result),
        failed: (code, detail) => this.failed(wireId, connectionError(this.name, code, detail)),
        unusable: (what, isTooLarge) =>
          this.failed(
            wireId,
            targetError(isTooLarge ? 'mcp_message_too_large' : 'mcp_target_failed', this.name, what),
          ),
        broken: (error) => this.broken(wireId, error),
      },
    );
    this.underWay.set(wireId, call);
    if (this.paused) call.pause();
    call.begin();
  }

  private result(wireId: number, result: string): void {
    if (Buffer.byteLength(result) > this.options.limits().maxMcpMessageBytes) {
      const what = 'has a result that is larger than limits.maxMcpMessageBytes';
      this.failed(wireId, targetError('mcp_message_too_large', this.name, what));
      return;
    }
    this.respond(wireId, `{"jsonrpc":"2.0","id":${wireId},"result":${result}}`);
  }

  private respond(wireId: number, text: string): void {
    const response = readEnvelope(text);
    if (typeof response === 'string') {
      this.failed(
        wireId,
        targetError('mcp_target_failed', this.name, 'has an answer that makes no result', response),
      );
      return;
    }
    const waiter = this.waiting.take(wireId);
    this.settled(wireId);
    if (waiter !== undefined) deliverResponse(waiter, response);
  }

  private failed(wireId: number, error: GatewayError): void {
    // A server answers such requests itself: the call has not failed.
    if (error.entry.source === 'client' && error.entry.jsonrpc !== undefined) {
      this.respond(wireId, errorResponse(error, String(wireId)));
      return;
    }
    const waiter = this.waiting.take(wireId);
    this.settled(wireId);
    if (waiter === undefined) return;
    this.lastError = error.message;
    this.trouble.warn({ reason: error.message, detail: error.detail });
    waiter.failed(error);
  }

  private late(wireId: number, limit: CallLimit): void {
    this.failed(wireId, lateError(this.name, limit));
  }

  private settled(wireId: number): void {
    this.clocks.settled(wireId);
    const call = this.underWay.get(wireId);
    this.underWay.delete(wireId);
    call?.abandon();
  }

  private unavailable(problem = 'it was not read'): GatewayError {
    return targetError('mcp_target_unreachable', this.name, 'has no usable API description', problem);
  }

  /** The reason why a call cannot be taken now, or undefined. */
  private refusal(): GatewayError | undefined {
    const failed = (what: string): GatewayError => targetError('mcp_target_failed', this.name, what);
    if (this.state === 'closed') return failed('has been stopped');
    if (this.waiting.size >= this.options.maxPending && !this.dropAbandoned())
      return failed('has too many calls waiting');
    let backlog = 0;
    for (const one of this.underWay.values()) backlog += one.backlog;
    return backlog > maxBacklog ? failed('does not read its requests') : undefined;
  }

  // The description

  private describe({ source }: OpenApiTarget): DescriptionUse {
    return this.options.descriptions.use(source, () => this.changed());
  }

  /** A client that has listed other tools is told to list them again. */
  private changed(): void {
    const list = this.description.tools?.list;
    if (this.listed === undefined || list === undefined || list === this.listed) return;
    this.listed = list;
    const news = readEnvelope('{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}');
    if (typeof news !== 'string') this.options.listener.onMessage(this, news, 'aside');
  }

  private stop(): void {
    if (this.state === 'closed') return;
    this.state = 'closed';
    this.description.release();
    for (const wireId of this.underWay.keys()) this.settled(wireId);
    this.clocks.clear();
    this.waiting.failAll(targetError('mcp_target_failed', this.name, 'has been stopped'));
  }
}
