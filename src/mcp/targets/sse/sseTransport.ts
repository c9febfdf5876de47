import type { GatewayError } from '../../../errors.ts';
import type { NetworkTarget } from '../../../model/index.ts';
import { targetError } from '../../messages/rpcError.ts';
import type { PinnedSession } from '../conversation/pinnedSession.ts';
import {
  ServerTransport,
  type PostUse,
  type TransportOptions,
  type TransportOwner,
} from '../conversation/serverTransport.ts';
import type { Reach } from '../../contract.ts';
import { EndpointStream, type EndpointStreamHost } from './endpointStream.ts';
import { messagePath } from './endpointUrl.ts';
import { SsePost } from './ssePost.ts';
import type { SseSession } from './sseSession.ts';

/** The connection whose messages are sent. */
export interface SseOwner extends TransportOwner {
  readonly session: SseSession;
  /** The stream of a session has ended. @param why it did, without the name of the target */
  ended(session: PinnedSession, error: GatewayError, why: string): void;
}

/** HTTP+SSE towards a server: one event stream for a session, and a POST for each message. */
export class SseTransport extends ServerTransport implements EndpointStreamHost {
  declare protected readonly owner: SseOwner;
  private readonly target: NetworkTarget;

  constructor(target: NetworkTarget, reach: Reach, owner: SseOwner, options: TransportOptions) {
    super(target.name, reach, owner, options);
    this.target = target;
  }

  /** Sends a message; the first message of a session opens its stream. */
  override post(text: string, method: string, wireId: number, use: PostUse = {}): SsePost {
    const { session } = this.owner;
    const done = (error?: GatewayError): void => {
      if (error !== undefined && wireId === 0) this.warn(error.message, error.detail);
      use.done?.(error);
    };
    // A request of the gateway's own that is never answered must not stay for ever.
    if (wireId !== 0 && method !== 'initialize' && !this.isLimited(wireId))
      this.limit(wireId, { ms: this.limits.mcpCallTimeoutMs });
    const { headers, reach } = use;
    const post = new SsePost({ session, text, method, wireId, headers, reach, done }, this);
    this.inFlight.add(post);
    const stream = session.stream ?? this.openStream(session);
    const isOpen = stream.whenOpen((path) => post.send(...this.wayOf(stream, path, reach)));
    if (!isOpen) post.refuse(targetError('mcp_target_failed', this.name, 'has no event stream'));
    return post;
  }

  private openStream(session: SseSession): EndpointStream {
    const stream = new EndpointStream(session, this);
    session.stream = stream;
    this.inFlight.add(stream);
    stream.open();
    return stream;
  }

  /** The path and the reach of a message. */
  private wayOf(
    stream: EndpointStream,
    path: string,
    own = this.reach,
  ): readonly [path: string, reach: Reach] {
    // Another server than that of the stream must not get its messages, nor this server the credentials of another.
    const reach = own.destination === stream.reach.destination ? own : stream.reach;
    return [messagePath(path, this.target.path, reach.path), reach];
  }

  /** Ends a session: its stream and every message under way. The calls fail. */
  breakOff(session: PinnedSession, error: GatewayError): void {
    for (const request of this.inFlight.in(session)) {
      request.abandon();
      if (request.wireId !== 0) this.failed(request.wireId, error);
    }
  }

  override settled(wireId: number): void {
    super.settled(wireId);
    this.answered(wireId);
  }

  override failed(wireId: number, error: GatewayError): void {
    super.failed(wireId, error);
    this.answered(wireId);
  }

  private answered(wireId: number): void {
    const request = this.inFlight.of(wireId);
    if (request instanceof SsePost) request.answered();
  }

  /** The server does not say which call its messages belong to. */
  protected override originOf(): undefined {
    return undefined;
  }

  // EndpointStreamHost

  ended(session: PinnedSession, error: GatewayError, why: string): void {
    // First of all: nothing more of the session may be sent when its calls fail.
    this.owner.ended(session, error, why);
    this.breakOff(session, error);
  }

  tooLong(wireId: number | undefined): void {
    const what = 'answered with a message that is too large';
    const error = targetError('mcp_message_too_large', this.name, what);
    // With a single call in flight, the message can hardly be about anything else.
    const meant = wireId ?? this.calling.sole;
    if (meant === undefined) this.warn('message over limits.maxMcpMessageBytes skipped');
    else this.failed(meant, error);
  }
}
