import type { GatewayError } from '../../errors.ts';
import type { PostResponse } from './postResponse.ts';
import type { Call } from './call.ts';
import { memberOf, stringValue, type Envelope } from '../json/envelope.ts';
import type { Session } from './session.ts';
import { targetError } from '../messages/rpcError.ts';
import type { Waiter } from '../targets/kind/target.ts';
import { isSupportedVersion } from '../messages/versions.ts';

/** Characters of an answer to initialize that is kept for targets that join later. */
const maxKeptResponse = 16_384;

/** The initialize of a session: its outcome decides whether the session comes to be. */
export class InitializeCall implements Waiter {
  private readonly session: Session;
  private readonly call: Call;
  private readonly answer: PostResponse;
  private readonly carry: () => void;
  private readonly request: Envelope;
  private readonly target: string;
  private over = false;

  /** @param carry gives the session the id by which others can go on with it, where there is one */
  constructor(
    session: Session,
    call: Call,
    answer: PostResponse,
    request: Envelope,
    target: string,
    carry: () => void,
  ) {
    this.request = request;
    this.target = target;
    this.carry = carry;
    this.session = session;
    this.call = call;
    this.answer = answer;
    this.answer.headers = [['mcp-session-id', session.id]];
  }

  get abandoned(): boolean {
    return this.call.abandoned;
  }

  answered(response: Envelope): void {
    const place = memberOf(response.text, response.body, 'protocolVersion');
    const version = place === 'ambiguous' ? undefined : stringValue(response.text, place);
    if (version !== undefined && !isSupportedVersion(version)) {
      const what = `answered initialize with protocol version ${version.slice(0, 64)}, which the gateway does not speak`;
      this.failed(targetError('mcp_target_failed', this.target, what));
      return;
    }
    this.over = true;
    if (response.isError) {
      this.answer.headers = [];
      void this.session.end(0);
    } else {
      this.session.agree(version);
      if (this.session.federation === undefined && response.text.length <= maxKeptResponse)
        this.session.opening = { request: this.request, response };
      // The client has yet to hear its id.
      if (!this.answer.started) {
        this.carry();
        this.answer.headers = [['mcp-session-id', this.session.id]];
      }
    }
    this.call.answered(response);
  }

  failed(error: GatewayError): void {
    this.over = true;
    this.answer.headers = [];
    this.session.log.warn('Initialize failed', { reason: error.message, detail: error.detail });
    void this.session.end(0);
    this.call.failed(error);
  }

  /** The exchange is over. Without an answer, nobody knows the session's id: it ends at once. */
  closed(): void {
    if (!this.over) void this.session.end(0);
  }
}
