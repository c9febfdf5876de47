/**
 * An exchange, and the types of its surroundings: its client, its port and its snapshot. They refer to the exchange and
 * the exchange refers to them, so all of them stand in one file. `servedExchange.ts` adds how an exchange answers.
 */

import { catalogue, type DecidedBy, type ErrorCode, type GatewayError } from '../../errors.ts';
import type { Audit } from '../../audit/index.ts';
import {
  Body,
  HeaderEdits,
  type Head,
  type HeaderLine,
  type HttpReply,
  type HttpRequest,
  type CallSpan,
  type Reply,
  type ReplyStream,
  type RequestSigner,
  type TracedCall,
} from '../../http/index.ts';
import {
  expressionWork,
  type ApiKeyHolder,
  type ChosenBackend,
  type CompiledRecord,
  type ComputedFields,
  type Exchange,
  type HostRewrite,
  type Identity,
  type Passage,
  type PlacedCredential,
  type Trial,
} from '../../policies/index.ts';
import { namedItem, type ItemCall, type McpItem, type ToolNames } from '../../mcp/index.ts';
import type { HttpListener, Limits, ProcessSettings, Route } from '../../model/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import type { UpstreamConnection } from '../../upstream/index.ts';
import type { RelayLines } from '../connections/relayLines.ts';
import type { HandshakeTerms } from '../connections/tlsDetails.ts';
import type { Tunnel } from '../connections/tunnel.ts';
import type { DropTables } from '../routing/droppedHeaders.ts';
import type { CompiledRule, HostTable, Router } from '../routing/router.ts';
import type { AffinityRouting } from '../routing/affinityRouting.ts';
import type { RouteStats } from '../stats/stats.ts';
import type { BodyConsumer, ClientEnd, HeldBody, Place } from './receivedRequest.ts';
import type { RequestSpan } from './requestSpan.ts';
import type { Step, StepName } from './step.ts';
import { TimedRequest } from './timedRequest.ts';

/** Makes the spans of requests. */
export interface ExchangeTracing {
  begin(exchange: LiveExchange): void;
  attempt(exchange: LiveExchange, backend: { readonly name: string; readonly tls: object | undefined }): void;
  call(exchange: LiveExchange, call: TracedCall): CallSpan | undefined;
}

/** The functions of its port that an exchange needs. */
export interface ExchangePort {
  /** The key of the bind. */
  readonly key: string;
  /** True where other workers come in, and not clients. */
  readonly inner: boolean;
  readonly log: Logger;
  readonly limits: Limits;
  readonly trustedProxies: ClientEnd['port']['trustedProxies'];
  /** Absent where nothing is recorded. */
  readonly audit: Audit | undefined;
  /** The snapshot a request runs on. Whoever enters is `finished` later. */
  enter(): Compiled;
  /** The reason to refuse a request that has just entered, if there is too much to do; counted. */
  tooMuch(): string | undefined;
  /** An answer that `end` ends when a new configuration might not let it go on. @returns what takes that back */
  keepLongLived(exchange: LiveExchange, end: () => void): () => void;
  /** Looks at an exchange that is about to be over, while its head is still there. */
  readonly observe: ((exchange: LiveExchange) => void) | undefined;
  /** An expression of a policy failed. */
  readonly expressionFailed: ((by: DecidedBy, reason: string) => void) | undefined;
  /** An MCP request was refused when its exchange was over. */
  readonly refusedLate: ((exchange: LiveExchange, by: DecidedBy) => void) | undefined;
  /** Absent where nothing is traced. */
  readonly tracing: ExchangeTracing | undefined;
  /** An exchange is over: counted and logged. */
  finished(exchange: LiveExchange): void;
}

/**
 * The functions of the client's side that an exchange needs. Answers are written as HTTP/1.1: to a connection of
 * that as they are, to a stream of HTTP/2 as the message they stand for. So there is one way to write an answer,
 * one place for each rule, and nothing is added to the path that most requests take.
 */
export interface ClientSide extends ClientEnd {
  readonly port: ExchangePort;
  /** The socket can delay writes with `cork`, and counts the bytes that the client has not taken yet. */
  readonly socket: ClientEnd['socket'] & {
    cork(): void;
    uncork(): void;
    readonly writableLength: number;
  };
  /** The end of an X-Forwarded-For line for this client. */
  readonly forwardedFor: string;
  /** Ways to other workers that are this client's alone. */
  readonly lines: RelayLines;
  /** No further request after the present one. */
  readonly draining: boolean;
  /** The end of the connection is the end of the present answer. */
  untilClose: boolean;
  /** @returns false when the client reads slower than we write */
  write(data: string | Buffer): boolean;
  /** The same for text outside latin1. */
  writeText(text: string): boolean;
  /** The same for bytes that belong to somebody else, who gets them back when they are written. */
  writeLent(bytes: Buffer, release: () => void): boolean;
  /** So many bytes of a whole answer wait behind those that were written. Absent: nobody counts them. */
  waits?(bytes: number): void;
  /** Gives the request body to `consumer`, from its first byte. */
  consume(exchange: LiveExchange, consumer: BodyConsumer): void;
  /** The consumer cannot take more for now. */
  pauseBody(): void;
  resumeBody(exchange: LiveExchange): void;
  /** The answer to the present request is complete. */
  answered(exchange: LiveExchange): void;
  /** Is more of the request to come than we would read to keep the connection? Asked when the answer begins. */
  restIsTooMuch(exchange: LiveExchange): boolean;
  /** The exchange has switched protocols: from here on the bytes of both sides pass as they are. */
  tunnelTo(
    exchange: LiveExchange,
    upstream: UpstreamConnection,
    bytes: Buffer,
    from: number,
    to: number,
  ): void;
  /** Ends it so that the client sees that the answer is not all there. */
  destroy(): void;
  /** A defect of ours: it ends this and nothing else. */
  broken(error: unknown): void;
}

/** The ways to other workers. */
export interface RelayRouter {
  /**
   * Takes a request on, where its session is another worker's.
   * @param serveHere what is done with it where that worker turns out to be gone
   */
  take(exchange: LiveExchange, serveHere: () => void): boolean;
}

/** A route ready to serve; what each request looks at stands first. */
export interface CompiledRoute {
  readonly onRequest: readonly Step<'onRequest'>[];
  /** Absent where no policy looks at answers. */
  readonly onResponse: readonly Step<'onResponse'>[] | undefined;
  readonly watchCaller: readonly Step<'watchCaller'>[];
  /** The relay to other workers where sessions of the route may live. */
  readonly relays: RelayRouter | undefined;
  /** Hands the request to a backend. */
  readonly serve: (exchange: LiveExchange) => void;
  readonly stats: RouteStats;
  readonly name: string;
  readonly listener: string;
  /** As the model has it; absent where it takes what no route matches. */
  readonly of: Route | undefined;
  readonly credentials: readonly Step<'credentials'>[];
  readonly onWellKnown: readonly Step<'onWellKnown'>[];
  readonly metadataUrl: Exchange['metadataUrl'];
  /** Routes with the same text have the same documents without a resource path. */
  readonly wellKnownKey: string;
  readonly refuseMcpItem: readonly Step<'refuseMcpItem'>[];
  readonly neededScopes: readonly Step<'neededScopes'>[];
  /** Every scope that some rule of the route or of its backends requires. */
  readonly ruleScopes: readonly string[];
  readonly countMcpCall: readonly Step<'countMcpCall'>[];
  readonly mcpCallTime: readonly Step<'mcpCallTime'>[];
  readonly onMcpRequest: readonly Step<'onMcpRequest'>[];
  readonly onMcpResult: readonly Step<'onMcpResult'>[];
  /** The rules about items as text; undefined without any. */
  readonly itemRules: string | undefined;
  /** The names in the rules about items. */
  readonly toolNames: readonly ToolNames[];
  /** Each of them looks at nothing but the item and the identity. */
  readonly itemsByIdentity: boolean;
  /**
   * The reason why the route is closed: it could not be prepared, or something that a policy needs is missing
   * right now.
   */
  readonly broken: string | undefined;
}

export interface CompiledListener {
  readonly name: string;
  readonly bind: string;
  readonly gateway: HttpListener['gateway'];
  readonly policies: HttpListener['policies'];
  /** Absent without TLS. */
  readonly handshake: HandshakeTerms | undefined;
  readonly router: Router<CompiledRoute>;
  /** Takes what no route matches: the listener's own policies still run. */
  readonly unrouted: CompiledRoute;
}

/** The host belongs to a listener of the port that does not speak HTTP. */
export interface NonHttpListener {
  readonly name: string;
  readonly handshake?: undefined;
  readonly router?: undefined;
}

/** The parts of the snapshot that an exchange needs. */
export interface Compiled {
  readonly settings: ProcessSettings;
  readonly drop: DropTables;
  /** The listeners of a port, by their host names; `secure`: of connections under TLS. */
  bind(key: string, secure: boolean): HostTable<CompiledListener | NonHttpListener> | undefined;
  /** Changes to the access log; absent: there are none. */
  readonly record: CompiledRecord | undefined;
  /** The head of the response is kept until the request has ended. */
  readonly keepsResponse: boolean;
  /** The exchange is over. */
  leave(): void;
}

/** The notes of a request that is explained. */
export interface TrialNotes extends Trial {
  /** The step that runs. */
  step: Step<StepName> | undefined;
  /** The steps that were not evaluated, or not wholly. */
  readonly notes: Map<Step<StepName>, { readonly what: string; readonly skipped: boolean }>;
  /** The route that judges in place of the chosen one: it may have another rule. @throws Error */
  routeFor(chosen: CompiledRoute): CompiledRoute;
}

const oneReading: readonly string[] = [];

/**
 * A request and its answer, from the end of its head to the last byte of the answer. It is what policies and
 * backends see (`Exchange`, `HttpRequest`, `HttpReply`) and where the exchange keeps its state.
 */
export abstract class LiveExchange extends TimedRequest implements Exchange, HttpRequest, HttpReply {
  readonly connection: ClientSide;
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
  clientTarget: string;
  forwardHost: HostRewrite | undefined;
  signer: RequestSigner | undefined;
  credentials: PlacedCredential[] | undefined;
  pathCredentials: string[] | undefined;
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
  /** The answer goes on for as long as the client stays. */
  isLongLived = false;
  /** The answer came as a stream. */
  protected isStreamed = false;
  /** Policies may judge something of the request when the exchange is over. */
  isJudgedLater = false;
  /** The answer is another worker's, who counts and logs it. */
  relayed = false;
  /** Records its operations; undefined where it has begun none. */
  recorded: { closed(): void } | undefined;
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
  targetMs: number | undefined;
  error: string | undefined;
  /** The error that has cut off the answer after its beginning. */
  cutBy: ErrorCode | undefined;
  reason: string | undefined;
  /** The policies of the route have begun to run. */
  policiesBegan = false;
  /** Set where the request is explained and not served. */
  trial: TrialNotes | undefined;
  /** The policy that has answered or refused the request. */
  decidedBy: DecidedBy | undefined;
  extra: Record<string, string | number> | undefined;
  /** The MCP item that the request names, as its server calls it. */
  item: McpItem | undefined;
  /** The first call that the rules have refused. */
  refusedCall: { readonly item: McpItem; readonly call: ItemCall } | undefined;
  /** The head of the response, where the snapshot keeps it. */
  responseLines: readonly HeaderLine[] | undefined;
  /** Fields of the access log line that expressions have computed. */
  added: ComputedFields | undefined;
  /** Fields of the exported log record, and whether there is one; absent where it has no fields of its own. */
  exported: ComputedFields | 'left out' | undefined;
  /** Absent where the request is not traced. */
  span: RequestSpan | undefined;
  authorized: Readonly<Record<string, unknown>> | undefined;
  guardrails: Map<string, unknown> | undefined;
  /** The body, where a policy has read it. */
  heldBody: HeldBody | undefined;
  /** The filter of the access log leaves the request out. */
  unlogged = false;

  /** Ends what works on the answer (an upstream request) when the client leaves or time is up. */
  cancel: ((why?: GatewayError) => void) | undefined;
  /** The client takes bytes again. */
  drained: (() => void) | undefined;
  /** The whole answer is in memory. */
  isReady = false;
  private requestEdits: HeaderEdits | undefined;
  private responseEdits: HeaderEdits | undefined;
  private closeListeners: (() => void)[] | undefined;
  private left = false;
  private isTunnel = false;

  constructor(connection: ClientSide, head: Head, snapshot: Compiled, place: Place) {
    super(connection, head, place);
    this.connection = connection;
    this.snapshot = snapshot;
    this.forwardTarget = place.target;
    this.clientTarget = place.target;
    this.startedAt = Date.now();
    this.startedTick = performance.now();
    this.keepAlive = head.http10 ? head.keepAlive && !head.close : !head.close;
  }

  // HttpRequest

  get request(): HttpRequest {
    return this;
  }

  /** Asked before somebody takes the body. */
  get hasBody(): boolean {
    const { heldBody, body } = this;
    return heldBody === undefined ? !body.done : heldBody.raw.length > 0;
  }

  abstract readBody(limitBytes: number): Promise<Buffer>;
  abstract holdBody(limitBytes: number): Promise<Buffer>;

  annotate(field: string, value: string | number): void {
    (this.extra ??= {})[field] = value;
  }

  get traceCall(): ((call: TracedCall) => CallSpan | undefined) | undefined {
    const { tracing } = this.connection.port;
    return tracing && ((call) => tracing.call(this, call));
  }

  uses(item: McpItem): void {
    this.item = item;
  }

  decided(by: DecidedBy): void {
    if (this.decidedBy !== undefined) return;
    this.decidedBy = this.placed(by);
    if (this.closed) this.connection.port.refusedLate?.(this, this.decidedBy);
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

  namedItem(): ReturnType<NonNullable<Exchange['namedItem']>> {
    if (this.method !== 'POST') return undefined;
    const backend = this.route?.of?.backends.find(({ kind }) => kind === 'mcp');
    return backend?.kind === 'mcp' ? namedItem(backend, this, this.connection.port.limits) : undefined;
  }

  get metadataUrl(): Exchange['metadataUrl'] {
    return this.route?.metadataUrl;
  }

  get scopeRules(): Exchange['scopeRules'] {
    return this.route?.neededScopes;
  }

  get ruleScopes(): Exchange['ruleScopes'] {
    return this.route?.ruleScopes;
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

  /** The backend was chosen: its time runs from now. */
  backendChosen(name: string): void {
    this.backend = name;
    this.armBackend();
  }

  // HttpReply

  abstract send(reply: Reply): void;
  abstract open(status: number, headers: readonly HeaderLine[]): ReplyStream;
  abstract fail(error: unknown): void;

  onClose(listener: () => void): void {
    if (this.closed) listener();
    else (this.closeListeners ??= []).push(listener);
  }

  /** Ends the exchange with an error: as an answer where none has begun, otherwise by cutting it short. */
  override abort(error: GatewayError): void {
    if (this.closed) return;
    this.stop(error);
    if (this.started) {
      this.noteError(error);
      this.cutOff(error);
    } else this.fail(error);
  }

  /** Ends an answer that has begun, so that the client sees that it is not complete. */
  cutOff({ code }: GatewayError): void {
    this.cutBy = code;
    this.connection.destroy();
  }

  /** Stops all work on the answer. */
  stop(why?: GatewayError): void {
    const { cancel } = this;
    this.cancel = undefined;
    this.drained = undefined;
    cancel?.(why);
  }

  refused(error: GatewayError, rpcCode: number): void {
    this.noteError(error);
    this.annotate('mcp.errorCode', rpcCode);
  }

  callFailed(error: GatewayError, rpcCode: number): void {
    this.refused(error, rpcCode);
    if (this.extra?.['mcp.outcome'] === undefined)
      this.annotate('mcp.outcome', error.entry.source === 'client' ? 'refused' : 'error');
  }

  noteError(error: GatewayError): void {
    this.error ??= error.code;
    if (error.by !== undefined) this.decided(error.by);
    this.noteReason(
      error.detail ?? (error.message === catalogue[error.code].message ? undefined : error.message),
    );
  }

  expressionFailed(by: DecidedBy, reason: string): void {
    this.connection.port.expressionFailed?.(this.placed(by), reason);
  }

  /** Completes a decision that was made outside of the steps of its policy, and has a place below it or none. */
  private placed(by: DecidedBy): DecidedBy {
    if (!/^(?:[.[]|$)/.test(by.place ?? '')) return by;
    const { listener, route } = this;
    const uses = [...(route?.of?.policies ?? []), ...(listener?.policies ?? [])];
    const use = uses.find(({ name }) => name === by.policy);
    return use === undefined ? by : { ...by, place: `${use.place.path}${by.place ?? ''}` };
  }

  noteReason(reason: string | undefined): void {
    this.reason ??= reason;
  }

  /**
   * The exchange goes on as a tunnel. Its time limits were for the answer, which was the 101; and it may outlive many
   * configurations, so it does not keep the one it came in with.
   */
  tunnelled(tunnel: Tunnel): void {
    this.isTunnel = true;
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
   * @param head the head of the backend's answer; absent for an answer of the gateway itself
   * @returns false where one of them failed: no answer goes out without it
   */
  begin(status: number, head?: Head): boolean {
    this.started = true;
    this.status = status;
    const steps = this.route?.onResponse;
    const { backendOnResponse } = this;
    if (steps === undefined && backendOnResponse === undefined) return true;
    try {
      if (steps !== undefined) for (const step of steps) step(this, status, head);
      if (backendOnResponse !== undefined) for (const step of backendOnResponse) step(this, status, head);
      return true;
    } catch (error) {
      this.error ??= 'internal_error';
      this.connection.broken(error);
      return false;
    }
  }

  /** The whole answer is in memory, and its client takes it piece by piece: nothing else has to be done in time. */
  answerIsReady(): void {
    this.isReady = true;
    this.cancel = undefined;
    this.clearTimers();
  }

  /** The answer is complete. The connection goes on when the request is, too. */
  finish(): void {
    if (this.closed) return;
    // A message of HTTP+SSE is judged when its POST is over, and a call may have got another stream.
    if (this.status === 202 || this.isStreamed) this.keepForRules();
    this.release();
    this.connection.answered(this);
  }

  /** The client does not wait for the end of its answer. A tunnel has no answer that could be cut short. */
  clientLeft(): void {
    if (!this.isTunnel) this.noteReason('the client left');
  }

  /** The connection is gone. */
  lost(): void {
    if (this.closed) return;
    this.stop();
    this.keepForRules();
    this.release();
  }

  /** Policies that judge later see the fields that the client sent. */
  private keepForRules(): void {
    if (this.isJudgedLater) this.keepLines();
  }

  private release(): void {
    this.connection.port.observe?.(this);
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
}
