import { catalogue, GatewayError } from '../../errors.ts';
import {
  Body,
  HeaderEdits,
  type Head,
  type HeaderLine,
  type HttpReply,
  type HttpRequest,
  type Reply,
  type ReplyStream,
} from '../../http/index.ts';
import {
  expressionWork,
  type ApiKeyHolder,
  type ChosenBackend,
  type Exchange,
  type HostRewrite,
  type Identity,
  type Passage,
} from '../../policies/index.ts';
import type { ClientSide } from './clientSide.ts';
import type { Compiled, CompiledListener, CompiledRoute } from './compiled.ts';
import { gatherBody } from './gatherBody.ts';
import { ReceivedRequest, type Place } from './receivedRequest.ts';
import { sendReply } from './reply.ts';
import { openStream } from './replyStream.ts';
import { sendError } from './sendError.ts';
import type { CompiledRule } from '../routing/router.ts';
import type { AffinityRouting } from '../routing/affinityRouting.ts';
import type { Tunnel } from '../connections/tunnel.ts';

/** Takes the bytes of the request body. */
export interface BodyConsumer {
  /** Payload or raw framing, as asked for with `raw`. */
  readonly raw: boolean;
  take(bytes: Buffer, from: number, to: number, done: boolean): void;
  fail(error: GatewayError): void;
}

const oneReading: readonly string[] = [];

/**
 * A request and its answer, from the end of its head to the last byte of the answer. It is what policies and
 * backends see (`Exchange`, `HttpRequest`, `HttpReply`) and where the exchange keeps its state.
 */
export class LiveExchange extends ReceivedRequest implements Exchange, HttpRequest, HttpReply {
  readonly snapshot: Compiled;
  readonly startedAt: number;
  readonly startedTick: number;
  /** Follows the request body through the connection. */
  readonly body = new Body();
  consumer: BodyConsumer | undefined;

  listener: CompiledListener | undefined;
  route: CompiledRoute | undefined;
  /** The match that chose the route. */
  rule: CompiledRule<CompiledRoute> | undefined;
  identity: Identity | undefined;
  token: string | undefined;
  user: string | undefined;
  apiKey: ApiKeyHolder | undefined;
  forwardTarget: string;
  forwardHost: HostRewrite | undefined;
  backendMs: number | undefined;
  /** A policy limits the time of the whole exchange. */
  limited = false;
  private requestMs: number | undefined;
  private limitTimers: NodeJS.Timeout[] | undefined;
  /** The actions of the chosen backend's policies on its answer. */
  backendOnResponse: CompiledRoute['onResponse'];
  pathReadings: readonly string[] = oneReading;
  workLeft: number = expressionWork;
  /** Known to those who ask for it (`plannedForward.ts`). */
  chosen: ChosenBackend | undefined;
  /** Absent where it is left to chance which address gets the request. */
  affinity: AffinityRouting | undefined;

  /** The answer has begun. */
  started = false;
  /** The answer is another worker's, who counts and logs it. */
  relayed = false;
  /** The connection may serve another request. */
  keepAlive: boolean;
  /** 0 until the answer begins. */
  status = 0;
  requestBytes = 0;
  responseBytes = 0;
  /** For the log. */
  backend: string | undefined;
  upstreamTick = 0;
  upstreamMs: number | undefined;
  error: string | undefined;
  reason: string | undefined;
  extra: Record<string, string | number> | undefined;

  /** Ends what works on the answer (an upstream request) when the client leaves or time is up. */
  cancel: ((why?: GatewayError) => void) | undefined;
  /** The client takes bytes again. */
  drained: (() => void) | undefined;
  private requestEdits: HeaderEdits | undefined;
  private responseEdits: HeaderEdits | undefined;
  private closeListeners: (() => void)[] | undefined;
  private timers: NodeJS.Timeout[] | undefined;
  private left = false;

  constructor(connection: ClientSide, head: Head, snapshot: Compiled, place: Place) {
    super(connection, head, place);
    this.snapshot = snapshot;
    this.forwardTarget = place.target;
    this.startedAt = Date.now();
    this.startedTick = performance.now();
    this.keepAlive = head.http10 ? head.keepAlive && !head.close : !head.close;
  }

  // HttpRequest

  get request(): HttpRequest {
    return this;
  }

  readBody(limitBytes: number): Promise<Buffer> {
    return gatherBody(this, limitBytes);
  }

  annotate(field: string, value: string | number): void {
    (this.extra ??= {})[field] = value;
  }

  // Exchange

  get passage(): Passage {
    const { listener, route } = this;
    const of = route?.of;
    return {
      bind: listener?.bind ?? this.connection.port.key,
      listener: listener?.name ?? '',
      gateway: listener?.gateway,
      route: of === undefined ? undefined : { name: of.name, ...of.origin },
    };
  }

  get timing(): Exchange['timing'] {
    const { upstreamTick, startedTick } = this;
    if (upstreamTick === 0) return undefined;
    return { requestMs: upstreamTick - startedTick, upstreamMs: performance.now() - upstreamTick };
  }

  get matchedPrefix(): string | undefined {
    return this.rule?.prefix;
  }

  get requestHeaders(): HeaderEdits {
    return (this.requestEdits ??= new HeaderEdits());
  }

  get responseHeaders(): HeaderEdits {
    return (this.responseEdits ??= new HeaderEdits());
  }

  /** The edits if there are any: nobody pays for what no policy asked for. */
  get pendingRequestEdits(): HeaderEdits | undefined {
    return this.requestEdits;
  }

  get pendingResponseEdits(): HeaderEdits | undefined {
    return this.responseEdits;
  }

  limitRequest(ms: number): void {
    this.limited = true;
    this.requestMs = Math.min(this.requestMs ?? ms, ms);
    (this.limitTimers ??= []).push(this.arm(ms, 'timeout.requestTimeout'));
  }

  /**
   * Takes the time limits of policies off the exchange: the backend keeps the time of what it is asked by itself.
   * @returns the shortest of them in milliseconds; undefined where there is none
   */
  liftLimits(): number | undefined {
    const { requestMs, backendMs } = this;
    for (const timer of this.limitTimers ?? []) clearTimeout(timer);
    this.limitTimers = undefined;
    this.backendMs = undefined;
    if (requestMs === undefined || backendMs === undefined) return requestMs ?? backendMs;
    return Math.min(requestMs, backendMs);
  }

  limitBackend(ms: number): void {
    this.backendMs = ms;
  }

  wait(ms: number): Promise<void> {
    return new Promise((resolve) => void this.after(ms, resolve));
  }

  /** The backend was chosen: its time runs from now. */
  backendChosen(name: string): void {
    this.backend = name;
    if (this.backendMs !== undefined) this.arm(this.backendMs, 'timeout.backendRequestTimeout');
  }

  /** Runs after so many milliseconds, unless the exchange ends before. */
  after(ms: number, run: () => void): NodeJS.Timeout {
    const timer = setTimeout(run, ms);
    if (this.closed) clearTimeout(timer);
    else (this.timers ??= []).push(timer);
    return timer;
  }

  private arm(ms: number, what: string): NodeJS.Timeout {
    return this.after(ms, () => this.abort(new GatewayError('upstream_timeout', { detail: what })));
  }

  // HttpReply

  send(reply: Reply): void {
    if (this.started || this.closed) return;
    sendReply(this, reply);
  }

  open(status: number, headers: readonly HeaderLine[]): ReplyStream {
    return openStream(this, status, headers);
  }

  fail(error: unknown): void {
    sendError(this, error);
  }

  onClose(listener: () => void): void {
    if (this.closed) listener();
    else (this.closeListeners ??= []).push(listener);
  }

  /** Ends the exchange with an error: as an answer where none has begun, otherwise by cutting it short. */
  abort(error: GatewayError): void {
    if (this.closed) return;
    this.stop(error);
    if (this.started) {
      this.noteError(error);
      this.connection.destroy();
    } else this.fail(error);
  }

  /** Stops all work on the answer. */
  stop(why?: GatewayError): void {
    const { cancel } = this;
    this.cancel = undefined;
    this.drained = undefined;
    cancel?.(why);
  }

  noteError(error: GatewayError): void {
    this.error ??= error.code;
    this.noteReason(
      error.detail ?? (error.message === catalogue[error.code].message ? undefined : error.message),
    );
  }

  noteReason(reason: string | undefined): void {
    this.reason ??= reason;
  }

  /**
   * The exchange goes on as a tunnel. Its time limits were for the answer, which was the 101; and it may outlive many
   * configurations, so it does not keep the one it came in with.
   */
  tunnelled(tunnel: Tunnel): void {
    this.clearTimers();
    this.cancel = () => {
      this.requestBytes += tunnel.up;
      this.responseBytes += tunnel.down;
      tunnel.close();
    };
    this.drained = () => tunnel.drained();
    this.leaveSnapshot();
  }

  /**
   * The answer begins: runs the policies that look at it.
   * @returns false where one of them failed: no answer goes out without it
   */
  begin(status: number): boolean {
    this.started = true;
    this.status = status;
    const steps = this.route?.onResponse;
    const { backendOnResponse } = this;
    if (steps === undefined && backendOnResponse === undefined) return true;
    try {
      if (steps !== undefined) for (const step of steps) step(this, status);
      if (backendOnResponse !== undefined) for (const step of backendOnResponse) step(this, status);
      return true;
    } catch (error) {
      this.error ??= 'internal_error';
      this.connection.broken(error);
      return false;
    }
  }

  /** The answer is complete. The connection goes on when the request is, too. */
  finish(): void {
    if (this.closed) return;
    this.release();
    this.connection.answered(this);
  }

  /** The connection is gone. */
  lost(): void {
    if (this.closed) return;
    this.stop();
    this.release();
  }

  private release(): void {
    this.closed = true;
    this.drained = undefined;
    this.cancel = undefined;
    this.clearTimers();
    const listeners = this.closeListeners;
    this.closeListeners = undefined;
    this.connection.port.finished(this);
    this.released = true;
    this.leaveSnapshot();
    if (listeners !== undefined) for (const listener of listeners) listener();
  }

  private leaveSnapshot(): void {
    if (this.left) return;
    this.left = true;
    this.snapshot.leave();
  }

  private clearTimers(): void {
    if (this.timers !== undefined) for (const timer of this.timers) clearTimeout(timer);
  }
}
