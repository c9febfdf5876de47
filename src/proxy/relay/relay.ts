import { GatewayError, type ErrorCode } from '../../errors.ts';
import {
  Body,
  dropTable,
  FRAMING,
  hopByHop,
  idempotentMethods,
  KIND,
  renderFields,
  type Head,
} from '../../http/index.ts';
import { sendError } from '../../mcp/index.ts';
import type { Endpoint, UpstreamConnection, ExchangeHandler } from '../../upstream/index.ts';
import type { LiveExchange } from '../exchange/liveExchange.ts';
import { sendPiece, writeFirst, writePiece } from '../exchange/bodyWrites.ts';
import { connectionLine } from '../exchange/reply.ts';
import type { RelayOutcome } from '../stats/stats.ts';
import type { BodyConsumer } from '../exchange/receivedRequest.ts';

/** Connection and its like are between the client and us. */
const ownLines = dropTable(hopByHop.filter((kind) => kind !== KIND.proxyAuthenticate));
const ownFraming = dropTable([...hopByHop, KIND.transferEncoding]);

/**
 * A request on its way to the worker that holds its session, and the answer on its way back. Both cross as they
 * are: everything that is to be decided, changed, counted and logged is done there.
 */
export class Relay implements ExchangeHandler, BodyConsumer {
  readonly raw = true;
  /** The other worker keeps the time. */
  readonly patient = true;
  private readonly exchange: LiveExchange;
  private readonly line: Endpoint;
  private readonly header: () => Buffer;
  private readonly serveHere: () => void;
  private readonly over: (outcome: RelayOutcome) => void;
  private readonly bodyless: boolean;
  private upstream!: UpstreamConnection;
  /** The head, until there is a connection to send it on. */
  private waiting: string | undefined;
  private retried = false;
  private dechunker: Body | undefined;

  /**
   * @param header says whom a connection is from
   * @param serveHere is called where nobody is there: the session is gone, and here the client learns that by the rules
   * @param over how it went; called once
   */
  constructor(
    exchange: LiveExchange,
    line: Endpoint,
    header: () => Buffer,
    serveHere: () => void,
    over: (outcome: RelayOutcome) => void,
  ) {
    this.exchange = exchange;
    this.line = line;
    this.header = header;
    this.serveHere = serveHere;
    this.over = once(over);
    this.bodyless = exchange.body.done;
  }

  start(): void {
    const { exchange } = this;
    exchange.cancel = () => {
      this.upstream.abandon();
      this.over('cancelled');
    };
    exchange.drained = () => this.upstream.resume();
    this.send(this.line.take());
  }

  private send(upstream: UpstreamConnection): void {
    const { exchange } = this;
    this.upstream = upstream;
    upstream.begin(this, exchange.method === 'HEAD', false);
    if (!upstream.reused) upstream.write(this.header());
    if (this.bodyless) {
      upstream.write(headOf(exchange));
      upstream.sent();
      return;
    }
    this.waiting = headOf(exchange);
    // The body is not touched before somebody is there to take it.
    if (upstream.connected) this.sendBody();
  }

  onConnected(): void {
    if (this.waiting !== undefined) this.sendBody();
  }

  private sendBody(): void {
    const { exchange, upstream } = this;
    // Whether the client gets leave to send it is for the other worker to say.
    if (!exchange.head.expectContinue) exchange.connection.consume(exchange, this);
    if (this.waiting === undefined || exchange.closed || exchange.started) return;
    upstream.write(this.waiting);
    this.waiting = undefined;
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
    const { exchange } = this;
    if (head.status === 100 && exchange.head.expectContinue && exchange.consumer === undefined)
      exchange.connection.consume(exchange, this);
  }

  onAnswer(head: Head, bytes: Buffer, from: number, to: number, body: Body): boolean {
    const { exchange } = this;
    exchange.started = true;
    exchange.status = head.status;
    exchange.relayed = true;
    if (exchange.head.http10 && body.kind === FRAMING.chunked) {
      // Such a client finds the end of the body by the end of the connection.
      exchange.keepAlive = false;
      exchange.connection.untilClose = true;
      this.dechunker = new Body();
      this.dechunker.startChunked('answer');
    }
    const table = this.dechunker === undefined ? ownLines : ownFraming;
    const out = `${head.text.substring(0, head.lineEnd)}${renderFields(head, table, undefined)}${connectionLine(exchange)}\r\n`;
    return this.pass(out, bytes, from, to, body.done);
  }

  onBody(bytes: Buffer, from: number, to: number, done: boolean): boolean {
    return this.pass('', bytes, from, to, done);
  }

  private pass(head: string, bytes: Buffer, from: number, to: number, done: boolean): boolean {
    const { exchange, dechunker, upstream } = this;
    const { connection } = exchange;
    let more = true;
    if (dechunker !== undefined) {
      connection.write(head);
      dechunker.take(bytes, from, to, (chunk, start, end) => {
        more = writePiece(connection, upstream, chunk, start, end);
      });
    } else if (head === '') more = writePiece(connection, upstream, bytes, from, to);
    else more = writeFirst(connection, head, bytes, from, to);
    if (done) {
      this.over('answered');
      exchange.finish();
    }
    return more;
  }

  onFailure(code: ErrorCode, detail: string, fresh: boolean): void {
    const { exchange, upstream, line } = this;
    if (!upstream.connected && !exchange.closed) {
      this.leave();
      this.over('unreachable');
      this.serveHere();
      return;
    }
    const stale = fresh && upstream.reused && !this.retried && code === 'upstream_reset';
    if (stale && this.bodyless && idempotentMethods.has(exchange.method) && !exchange.closed) {
      this.retried = true;
      this.send(line.take(true));
      return;
    }
    this.leave();
    this.over('lost');
    // The other worker is gone and cannot be told.
    exchange.relayed = false;
    const error = new GatewayError('mcp_owner_lost', { detail: `${line.host}: ${detail}` });
    exchange.noteError(error);
    if (exchange.started) exchange.abort(error);
    else sendError(exchange, error);
  }

  private leave(): void {
    const { exchange } = this;
    exchange.cancel = undefined;
    exchange.drained = undefined;
  }
}

/** The head as the client sent it, in a version in which the end of an answer can be told from its loss. */
function headOf({ head, method }: LiveExchange): string {
  if (!head.http10) return head.text;
  return `${method} ${head.target} HTTP/1.1\r\n${head.text.substring(head.lineEnd)}`;
}

function once(tell: (outcome: RelayOutcome) => void): (outcome: RelayOutcome) => void {
  let told = false;
  return (outcome) => {
    if (told) return;
    told = true;
    tell(outcome);
  };
}
