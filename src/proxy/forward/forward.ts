import { GatewayError, type ErrorCode } from '../../errors.ts';
import {
  Body,
  FRAMING,
  httpDate,
  idempotentMethods,
  KIND,
  renderFields,
  statusLine,
  type Head,
} from '../../http/index.ts';
import type { HostRewrite } from '../../policies/index.ts';
import type {
  Destination,
  Endpoint,
  UpstreamConnection,
  ExchangeHandler,
  Waiter,
} from '../../upstream/index.ts';
import type { LiveExchange } from '../exchange/liveExchange.ts';
import { isGrpc } from '../exchange/grpc.ts';
import { consumeBody } from '../exchange/heldBody.ts';
import { sendPiece, writeFirst, writePiece } from '../exchange/bodyWrites.ts';
import { connectionLine } from '../exchange/reply.ts';
import { rewrittenHost } from '../routing/rewrittenHost.ts';
import { neededUpgrade, switchProtocols, upgradeFields, wantedUpgrade } from './upgrade.ts';
import type { BodyConsumer } from '../exchange/receivedRequest.ts';

const seen = (head: Head, kind: number): boolean => (head.seen & (1 << kind)) !== 0;

/**
 * A request on its way to an HTTP backend and its answer on the way back. Heads are rewritten as text, small
 * bodies travel in the same write, larger ones chunk by chunk: each side is paused while the other cannot take
 * more.
 */
export class Forward implements ExchangeHandler, Waiter, BodyConsumer {
  /** The body crosses with its framing. */
  readonly raw = true;
  readonly exchange: LiveExchange;
  readonly destination: Destination;
  /** Not there while the request waits for a connection. */
  protected upstream!: UpstreamConnection;
  private queued = false;
  /** The addresses that could not be connected to. */
  private tried: Endpoint[] | undefined;
  /** The request head while it waits for the first piece of the body. */
  private waiting: string | undefined;
  protected readonly bodyless: boolean;
  /** Protocols the client would rather speak than HTTP. */
  protected readonly upgrade: string | undefined;
  private retried = false;
  /** Writes the answer's body to the client in the framing that was chosen. */
  private mode: (bytes: Buffer, from: number, to: number, done: boolean) => boolean = () => true;
  private dechunker: Body | undefined;

  constructor(exchange: LiveExchange, destination: Destination) {
    this.exchange = exchange;
    this.destination = destination;
    this.bodyless = !exchange.hasBody;
    this.upgrade = exchange.head.upgrade ? wantedUpgrade(exchange) : undefined;
  }

  start(): void {
    const { exchange } = this;
    exchange.backendChosen(this.destination.name);
    exchange.cancel = (why) => this.cancel(why);
    exchange.drained = () => {
      if (!this.queued) this.upstream.resume();
    };
    this.connect(false);
  }

  private connect(fresh: boolean): void {
    const upstream = this.choose(fresh);
    if (upstream !== undefined) {
      this.send(upstream);
      return;
    }
    this.queued = true;
    this.destination.wait(this);
  }

  /** A connection to use at once, to the address where the request belongs. */
  protected choose(fresh: boolean): UpstreamConnection | undefined {
    const { affinity } = this.exchange;
    return affinity === undefined ? this.destination.take(fresh) : affinity.take(this.destination, fresh);
  }

  private cancel(why: GatewayError | undefined): void {
    if (this.queued) {
      this.destination.waiting.forget(this);
      return;
    }
    if (why?.code === 'upstream_timeout') this.upstream.tooSlow();
    this.upstream.abandon();
  }

  // Waiter

  onReady(upstream: UpstreamConnection): void {
    this.queued = false;
    this.send(upstream);
  }

  onRefused(code: ErrorCode, detail: string): void {
    this.exchange.abort(new GatewayError(code, { detail }));
  }

  protected send(upstream: UpstreamConnection): void {
    const { exchange } = this;
    this.upstream = upstream;
    upstream.begin(this, exchange.method === 'HEAD', this.upgrade !== undefined);
    if (exchange.span !== undefined) exchange.connection.port.tracing?.attempt(exchange, this.destination);
    const head = signedHead(exchange, this.destination, this.upgrade);
    if (this.bodyless) {
      upstream.write(head);
      upstream.sent();
      exchange.upstreamTick = performance.now();
      return;
    }
    this.waiting = head;
    exchange.upstreamTick = performance.now();
    // The body is not touched before there is a connection: where there will be none, another address can have it.
    if (upstream.connected) this.sendBody(upstream);
  }

  /** There is a body, and nothing of it was asked for yet. */
  protected get untouched(): boolean {
    return !this.bodyless && this.exchange.consumer === undefined;
  }

  onConnected(): void {
    if (this.waiting !== undefined) this.sendBody(this.upstream);
  }

  private sendBody(upstream: UpstreamConnection): void {
    const { exchange } = this;
    consumeBody(exchange, this);
    // No byte of the body is here yet: the head does not wait for it.
    if (this.waiting !== undefined && !exchange.closed && !exchange.started) {
      upstream.write(this.waiting);
      this.waiting = undefined;
    }
  }

  // BodyConsumer: the request body

  take(bytes: Buffer, from: number, to: number, done: boolean): void {
    const { exchange, upstream, waiting } = this;
    this.waiting = undefined;
    const more = sendPiece(upstream, waiting, bytes, from, to);
    if (done) upstream.sent();
    else if (!more) exchange.connection.pauseBody();
  }

  fail(error: GatewayError): void {
    this.exchange.abort(error);
  }

  // ExchangeHandler: the answer

  onWritable(): void {
    this.exchange.connection.resumeBody(this.exchange);
  }

  onInformational(head: Head): void {
    // The Expect field was ours to answer, so a 100 is, too; HTTP/1.0 knows no interim answers (RFC 9110 §15.2).
    if (head.status === 100 || this.exchange.head.http10) return;
    this.exchange.connection.write(
      `${statusLine(head.status)}${renderFields(head, this.exchange.snapshot.drop.responseNewFraming, undefined)}\r\n`,
    );
  }

  onSwitch(head: Head, bytes: Buffer, from: number, to: number): void {
    this.exchange.upstreamMs = performance.now() - this.exchange.upstreamTick;
    switchProtocols(this.exchange, this.upstream, this.upgrade ?? '', { head, bytes, from, to });
  }

  onAnswer(head: Head, bytes: Buffer, from: number, to: number, body: Body): boolean {
    return this.answer(head, bytes, from, to, body.kind, body.done);
  }

  /** Writes the head of the answer and the first part of its body; `kind` is a value of `FRAMING`. */
  protected answer(
    head: Head,
    bytes: Buffer,
    from: number,
    to: number,
    kind: number,
    done: boolean,
  ): boolean {
    const { exchange } = this;
    const { drop, settings } = exchange.snapshot;
    exchange.upstreamMs = performance.now() - exchange.upstreamTick;
    if (!exchange.begin(head.status, head)) return true;
    exchange.affinity?.answered(exchange, this.upstream.endpoint);
    let table = drop.response;
    let framing = '';
    if (kind === FRAMING.close && !exchange.head.http10) {
      table = drop.responseNewFraming;
      framing = 'transfer-encoding: chunked\r\n';
      this.mode = this.writeChunk;
    } else if (exchange.head.http10 && (kind === FRAMING.chunked || kind === FRAMING.close)) {
      // An HTTP/1.0 client finds the end of such a body by the end of the connection.
      table = drop.responseNewFraming;
      exchange.keepAlive = false;
      exchange.connection.untilClose = true;
      if (kind === FRAMING.chunked) {
        this.dechunker = new Body();
        this.dechunker.startChunked('answer');
        this.mode = this.writePayload;
      } else this.mode = this.writeRaw;
    } else {
      this.mode = this.writeRaw;
      // 204 has no framing fields (RFC 9110 §8.6, RFC 9112 §6.1), and 1.0 knows no chunks, not even for HEAD.
      if (head.status === 204 || (exchange.head.http10 && head.chunked)) table = drop.responseNewFraming;
    }
    const edits = exchange.pendingResponseEdits;
    if (exchange.snapshot.keepsResponse) exchange.responseLines = edits?.apply(head.lines()) ?? head.lines();
    const out =
      answerLine(head) +
      renderFields(head, table, edits) +
      framing +
      (settings.headers.upstreamServiceTime && edits?.dropsName('x-envoy-upstream-service-time') !== true
        ? `x-envoy-upstream-service-time: ${Math.round(exchange.upstreamMs)}\r\n`
        : '') +
      (settings.headers.server && !seen(head, KIND.server) && edits?.touches('server') !== true
        ? 'server: portcullis\r\n'
        : '') +
      (seen(head, KIND.date) ? '' : `date: ${httpDate(Date.now())}\r\n`) +
      (seen(head, KIND.upgrade) ? neededUpgrade(head) : '') +
      connectionLine(exchange) +
      '\r\n';
    const { connection } = exchange;
    exchange.responseBytes = out.length;
    let more: boolean;
    if (this.mode === this.writeRaw) {
      exchange.responseBytes += to - from;
      more = writeFirst(connection, out, bytes, from, to);
      if (done) exchange.finish();
      return more;
    }
    connection.socket.cork();
    connection.write(out);
    more = this.mode(bytes, from, to, done);
    connection.socket.uncork();
    if (done) exchange.finish();
    return more;
  }

  onBody(bytes: Buffer, from: number, to: number, done: boolean): boolean {
    const more = this.mode(bytes, from, to, done);
    if (done) this.exchange.finish();
    return more;
  }

  onFailure(code: ErrorCode, detail: string, fresh: boolean): void {
    const { exchange, upstream } = this;
    if (!upstream.connected && this.moveOn(upstream)) return;
    // A kept-alive connection that died before it answered says nothing about the backend: once, another is tried.
    const stale = fresh && upstream.reused && !this.retried && code === 'upstream_reset';
    if (stale && this.bodyless && idempotentMethods.has(exchange.method) && !exchange.closed) {
      this.retried = true;
      this.connect(true);
      return;
    }
    upstream.endpoint.stats.failed++;
    exchange.abort(new GatewayError(code, { detail: `${upstream.endpoint.name}: ${detail}` }));
  }

  /** gRPC has deadlines of its own, and servers that send the head of an answer with its first message. */
  get patient(): boolean {
    const { exchange } = this;
    return exchange.limited || exchange.backendMs !== undefined || isGrpc(exchange);
  }

  /** Moves the request to another address. It was not sent yet, so this is safe with or without a body. */
  private moveOn(failed: UpstreamConnection): boolean {
    if (this.exchange.closed) return false;
    const other = this.other(failed);
    if (other === undefined) return false;
    this.send(other);
    return true;
  }

  /** A connection to where this request has not yet failed to connect to. */
  protected other(failed: UpstreamConnection): UpstreamConnection | undefined {
    (this.tried ??= []).push(failed.endpoint);
    const { affinity } = this.exchange;
    if (affinity !== undefined) return affinity.takeOther(this.destination, this.tried);
    return this.destination.takeOther(this.tried);
  }

  // Ways to write the answer's body

  private writeRaw(bytes: Buffer, from: number, to: number): boolean {
    this.exchange.responseBytes += to - from;
    return writePiece(this.exchange.connection, this.upstream, bytes, from, to);
  }

  private writePayload(bytes: Buffer, from: number, to: number): boolean {
    let more = true;
    this.dechunker?.take(bytes, from, to, (chunk, start, end) => {
      more = this.writeRaw(chunk, start, end);
    });
    return more;
  }

  private writeChunk(bytes: Buffer, from: number, to: number, done: boolean): boolean {
    const { connection } = this.exchange;
    connection.socket.cork();
    let more = true;
    if (to > from) {
      connection.write(`${(to - from).toString(16)}\r\n`);
      more = this.writeRaw(bytes, from, to);
      connection.write('\r\n');
    }
    if (done) more = connection.write('0\r\n\r\n');
    connection.socket.uncork();
    return more;
  }
}

/** The status line in our version and with the space that some servers leave out. */
function answerLine(head: Head): string {
  const { text, lineEnd } = head;
  if (text.charCodeAt(12) !== 32) return statusLine(head.status);
  return head.http10 ? `HTTP/1.1${text.substring(8, lineEnd)}` : text.substring(0, lineEnd);
}

const noBody = Buffer.alloc(0);

/**
 * The head of one try, signed where a policy wants that.
 * @param body the whole body, if the signature covers it
 */
export function signedHead(
  exchange: LiveExchange,
  destination: Destination,
  upgrade: string | undefined,
  body: Buffer = noBody,
): string {
  const head = requestHead(exchange, destination, upgrade);
  return exchange.signer === undefined ? head : exchange.signer.sign(head, body);
}

/** The request head as the backend gets it; what a policy said about a field goes before our own line. */
export function requestHead(
  exchange: LiveExchange,
  destination: Destination,
  upgrade: string | undefined,
): string {
  const { head, snapshot } = exchange;
  const { headers } = snapshot.settings;
  const edits = exchange.pendingRequestEdits;
  const rewritten = exchange.forwardTarget !== head.target;
  const line =
    rewritten || head.http10
      ? `${exchange.method} ${exchange.forwardTarget} HTTP/1.1\r\n`
      : head.text.substring(0, head.lineEnd);
  const rewrite = exchange.forwardHost ?? (destination.target.ownHost === true ? ownHost : undefined);
  const addHost = exchange.targetNamesHost || head.host === -1 || rewrite !== undefined;
  return (
    line +
    renderFields(head, addHost ? snapshot.drop.requestNewHost : snapshot.drop.request, edits) +
    // Only HTTP/1.0 does without a host; its request is about the backend itself.
    (addHost ? `host: ${hostFor(rewrite, exchange.authority, destination)}\r\n` : '') +
    (edits?.dropsName('x-forwarded-for') === true ? '' : forwardedFor(exchange, headers.forwardedFor)) +
    (headers.forwardedProto && edits?.dropsName('x-forwarded-proto') !== true
      ? `x-forwarded-proto: ${exchange.scheme}\r\n`
      : '') +
    (headers.forwardedHost && exchange.authority !== '' && edits?.dropsName('x-forwarded-host') !== true
      ? `x-forwarded-host: ${exchange.authority}\r\n`
      : '') +
    (headers.requestId && edits?.dropsName('x-request-id') !== true
      ? `x-request-id: ${exchange.id}\r\n`
      : '') +
    (upgrade === undefined ? '\r\n' : `${upgradeFields(upgrade)}\r\n`)
  );
}

/** The `Host` for backends that go by their own name, unless a policy says otherwise. */
const ownHost: HostRewrite = { kind: 'auto' };

function hostFor(rewrite: HostRewrite | undefined, authority: string, destination: Destination): string {
  if (rewrite !== undefined) return rewrittenHost(rewrite, authority, destination);
  return authority === '' ? destination.name : authority;
}

/**
 * The client's address, behind those that earlier proxies noted. Where the configuration names the proxies that are
 * trusted, nothing of what others wrote crosses.
 * @param adds the address of the peer is added; otherwise the backend gets only what a trusted proxy said
 */
function forwardedFor(exchange: LiveExchange, adds: boolean): string {
  const { head, forwarded } = exchange;
  const { forwardedFor: client, port } = exchange.connection;
  if (!adds) {
    const told = forwarded?.chain.lastIndexOf(', ') ?? -1;
    return told === -1 ? '' : `x-forwarded-for: ${forwarded?.chain.slice(0, told)}\r\n`;
  }
  if (forwarded !== undefined) return `x-forwarded-for: ${forwarded.chain}\r\n`;
  if (port.trustedProxies !== undefined) return `x-forwarded-for: ${client}`;
  const given = head.get('x-forwarded-for');
  return given === undefined ? `x-forwarded-for: ${client}` : `x-forwarded-for: ${given}, ${client}`;
}
