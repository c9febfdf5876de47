import type { GatewayError } from '../../../errors.ts';
import type { PinnedSession } from '../conversation/pinnedSession.ts';
import { ServerTransport, type PostListener } from '../conversation/serverTransport.ts';
import { targetError } from '../../messages/rpcError.ts';
import type { MessageOrigin } from '../kind/target.ts';
import { Post } from './post.ts';
import { ServerStream } from './serverStream.ts';
import type { StreamHost, StreamPlace } from './streamHost.ts';

/** Streamable HTTP towards a server: each message is a POST of its own, whose answer may be a stream. */
export class HttpTransport extends ServerTransport implements StreamHost {
  override post(text: string, method: string, wireId: number, listener: PostListener = {}): Post {
    const done = (error?: GatewayError): void => {
      if (error !== undefined && wireId === 0) this.warn(error.message, error.detail);
      listener.done?.(error);
    };
    const post = new Post({ session: this.owner.session, text, method, wireId, ...listener, done }, this);
    this.inFlight.add(post);
    post.begin();
    return post;
  }

  /**
   * Opens a stream, or takes one up again.
   * @param contended another process may have a stream of the same session, for now
   */
  listen(wireId: number, session: PinnedSession, place: StreamPlace, contended = false): ServerStream {
    const note = (message: string, detail: string): void => this.warn(message, detail);
    const { now } = this.options;
    const listening = new ServerStream({ session, wireId, place, contended, now, note }, this);
    this.inFlight.add(listening);
    listening.begin();
    return listening;
  }

  protected override originOf(wireId: number): MessageOrigin {
    return this.calling.get(wireId) ?? 'aside';
  }

  // StreamHost

  broken(session: PinnedSession, wireId: number, { lastId, retryMs }: StreamPlace): void {
    if (session === this.owner.session) this.listen(wireId, session, { lastId, retryMs });
    else this.failed(wireId, targetError('mcp_target_failed', this.name, 'lost the session of the call'));
  }
}
