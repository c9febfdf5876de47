import type { GatewayError } from '../../errors.ts';
import { announcedLists } from './announcedLists.ts';
import type { PostResponse } from './postResponse.ts';
import type { Call } from './call.ts';
import { errorTextOf } from '../json/errorMember.ts';
import { memberOf, stringValue, type Envelope } from '../json/envelope.ts';
import type { Session } from './session.ts';
import { targetError } from '../messages/rpcError.ts';
import type { Waiter } from '../targets/kind/target.ts';
import { isSupportedVersion } from '../messages/versions.ts';

/** Characters of an answer to initialize that is kept for targets that join later. */
export const maxKeptResponse = 16_384;

/** The surroundings of an initialize. */
export interface InitializeUse {
  /** The name of the target, or of all of them. */
  readonly target: string;
  /** Gives the session the id by which others can go on with it, where there is one. */
  readonly carry: () => void;
  /** Hears whether the target has started. @param problem the reason why it has not */
  readonly onStart: (problem?: string) => void;
}

/** The initialize of a session: its outcome decides whether the session comes to be. */
export class InitializeCall implements Waiter {
  private readonly session: Session;
  private readonly call: Call;
  private readonly answer: PostResponse;
  private readonly request: Envelope;
  private readonly use: InitializeUse;
  private over = false;

  constructor(session: Session, call: Call, answer: PostResponse, request: Envelope, use: InitializeUse) {
    this.request = request;
    this.use = use;
    this.session = session;
    this.call = call;
    this.answer = answer;
    this.answer.headers = [['mcp-session-id', session.id]];
  }

  get abandoned(): boolean {
    return this.call.abandoned;
  }

  answered(response: Envelope): void {
    // Its client has left, or the backend has gone: others answer in its name all the same.
    if (this.session.ended) {
      this.failed(targetError('mcp_target_failed', this.use.target, 'has been stopped'));
      return;
    }
    const place = memberOf(response.text, response.body, 'protocolVersion');
    const version = place === 'ambiguous' ? undefined : stringValue(response.text, place);
    if (version !== undefined && !isSupportedVersion(version)) {
      const what = `answered initialize with protocol version ${version.slice(0, 64)}, which the gateway does not speak`;
      this.failed(targetError('mcp_target_failed', this.use.target, what));
      return;
    }
    this.over = true;
    if (response.isError) {
      this.answer.headers = [];
      this.use.onStart(`answered initialize with an error: ${errorTextOf(response)}`);
      void this.session.end(0);
    } else {
      this.use.onStart();
      this.session.agree(version);
      this.session.announces = announcedLists(response);
      if (this.session.federation === undefined && response.text.length <= maxKeptResponse)
        this.session.opening = { request: this.request, response };
      // The client has yet to hear its id.
      if (!this.answer.started) {
        this.use.carry();
        this.answer.headers = [['mcp-session-id', this.session.id]];
      }
    }
    this.call.answered(response);
  }

  failed(error: GatewayError): void {
    const { code, message } = error;
    // A client that has left, and a full budget, say nothing of the server.
    if (!this.over && (code === 'mcp_target_failed' || code === 'mcp_target_timeout'))
      this.use.onStart(message);
    this.over = true;
    this.answer.headers = [];
    this.session.log.warn('Initialize failed', { reason: error.message, detail: error.detail });
    void this.session.end(0);
    this.call.failed(error);
  }

  /** The exchange is over. Without an answer, nobody knows the session's id: it ends at once. */
  closed(): void {
    if (this.over) return;
    this.over = true;
    void this.session.end(0);
  }
}
