import type { ErrorCode, GatewayError } from '../../../errors.ts';
import { EventReader, type EventHandler, type Head, type LargeEvent } from '../../../http/index.ts';
import type { Endpoint, ResponseHandler } from '../../../upstream/index.ts';
import type { Reach } from '../../contract.ts';
import { targetError } from '../../messages/rpcError.ts';
import { connectionError, statusError } from '../conversation/failures.ts';
import type { InFlightRequest, RequestHost } from '../conversation/inFlightRequest.ts';
import { idOfLongLine } from '../conversation/longLine.ts';
import type { PinnedSession } from '../conversation/pinnedSession.ts';
import { ServerExchange } from '../conversation/serverExchange.ts';
import { requestHead } from '../conversation/serverRequestHead.ts';
import { endpointPath } from './endpointUrl.ts';

/** The functions of its connection that a stream needs. */
export interface EndpointStreamHost extends RequestHost {
  /** The stream could not be opened, or has ended: the session is over. */
  ended(session: PinnedSession, error: GatewayError, why: string): void;
  /** The server sent a message over the limit. @param wireId the call that it answers, as far as its text says so */
  tooLong(wireId: number | undefined): void;
}

/** Answers to GET that no server of this transport gives: the URL is most likely that of another transport. */
const otherTransport: ReadonlySet<number> = new Set([400, 404, 405, 406]);

/**
 * The event stream of a session. Its first event, `endpoint`, names the path for messages; every message of the server
 * comes as an event. The session ends with the stream.
 */
export class EndpointStream implements ResponseHandler, EventHandler, InFlightRequest {
  readonly wireId = 0;
  readonly backlog = 0;
  readonly session: PinnedSession;
  /** The reach with which it was opened. */
  readonly reach: Reach;
  private readonly host: EndpointStreamHost;
  private readonly exchange: ServerExchange;
  private reader: EventReader | undefined;
  private path: string | undefined;
  /** The messages that wait for the path. */
  private waiting: ((path: string) => void)[] = [];
  private over = false;

  constructor(session: PinnedSession, host: EndpointStreamHost) {
    this.session = session;
    this.host = host;
    this.reach = host.reach;
    this.exchange = new ServerExchange(
      {
        destination: this.reach.destination,
        session,
        head: requestHead('GET', this.reach, session, [
          ['accept', 'text/event-stream'],
          ['cache-control', 'no-store'],
        ]),
        repeatable: true,
        // Some servers send the head of a stream with its first event.
        patient: true,
      },
      this,
    );
    if (host.paused) this.exchange.pause();
  }

  open(): void {
    this.exchange.begin();
  }

  /**
   * Runs `then` with the path for messages, once the server has named it; never where the stream ends before.
   * @returns false where the stream has ended
   */
  whenOpen(then: (path: string) => void): boolean {
    if (this.over) return false;
    if (this.path === undefined) this.waiting.push(then);
    else then(this.path);
    return true;
  }

  // InFlightRequest

  pause(): void {
    this.exchange.pause();
  }

  resume(): void {
    this.exchange.resume();
  }

  abandon(): void {
    if (this.over) return;
    this.over = true;
    this.waiting = [];
    this.reader?.stop();
    this.exchange.abandon();
    this.host.over(this);
  }

  tick(): void {
    // A stream may be silent for as long as it likes.
  }

  // ResponseHandler

  onHead(head: Head, from: Endpoint): void {
    const { status } = head;
    const type = head.get('content-type') ?? '';
    const coding = head.get('content-encoding')?.toLowerCase() ?? 'identity';
    if (status === 200 && /^\s*text\/event-stream\s*(?:;|$)/i.test(type) && coding === 'identity') {
      this.session.endpoint = from;
      this.reader = new EventReader(this, this.host.limits.maxMcpMessageBytes);
      return;
    }
    const detail = `status ${status}, content-type ${type === '' ? 'absent' : type.slice(0, 100)}`;
    if (status >= 200 && status < 300) {
      const what = 'answered with something that is no event stream';
      this.fail(targetError('mcp_target_failed', this.host.name, what, detail));
      return;
    }
    const hint = otherTransport.has(status)
      ? `${detail}; a server that speaks Streamable HTTP is written as mcp, not as sse`
      : detail;
    this.fail(statusError(this.host.name, status, hint, head.get('retry-after')));
  }

  onBytes(bytes: Buffer, from: number, to: number): void {
    this.reader?.take(bytes, from, to);
  }

  onEnd(): void {
    this.broken('ended its event stream', '');
  }

  onFailure(code: ErrorCode, detail: string): void {
    if (this.reader === undefined) this.fail(connectionError(this.host.name, code, detail));
    else this.broken('broke its event stream off', `${code}: ${detail}`);
  }

  // EventHandler

  onEvent(data: string): void {
    this.host.receive(data, 0);
  }

  onTyped(type: string, data: string): void {
    // The path of a session does not change: a later event of this type has no meaning.
    if (type !== 'endpoint' || this.path !== undefined || this.over) return;
    const path = endpointPath(data, this.reach);
    if (path === undefined) {
      const what = 'named an endpoint for messages that is no URL of its own origin';
      this.fail(targetError('mcp_target_failed', this.host.name, what, data.slice(0, 200)));
      return;
    }
    this.path = path;
    for (const then of this.waiting.splice(0)) then(path);
  }

  onLarge(head: Buffer): LargeEvent | undefined {
    return this.host.receiveLarge(head, 0);
  }

  onTooLong(head: string, tail: string): void {
    this.host.tooLong(idOfLongLine(head, tail));
  }

  private broken(what: string, detail: string): void {
    this.fail(targetError('mcp_target_failed', this.host.name, what, detail), what);
  }

  private fail(error: GatewayError, why = 'did not open its event stream'): void {
    if (this.over) return;
    this.abandon();
    this.host.ended(this.session, error, why);
  }
}
