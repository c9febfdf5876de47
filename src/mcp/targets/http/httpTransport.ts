import type { GatewayError } from '../../../errors.ts';
import type { HeaderLine } from '../../../http/index.ts';
import type { Reach } from '../../contract.ts';
import type { Era } from '../../messages/eras.ts';
import type { PinnedSession } from '../conversation/pinnedSession.ts';
import { ServerTransport, type PostUse, type TransportOptions } from '../conversation/serverTransport.ts';
import { targetError } from '../../messages/rpcError.ts';
import { isNotUnderstood } from '../conversation/failures.ts';
import type { MessageOrigin } from '../kind/target.ts';
import { headerValue } from '../../messages/mirroredHeaders.ts';
import { Post } from './post.ts';
import { ServerStream } from './serverStream.ts';
import type { StreamHost, StreamPlace } from './streamHost.ts';

export interface HttpTransportOptions extends TransportOptions {
  /** The era of the requests; absent: legacy. */
  readonly era?: Era | undefined;
}

/** Streamable HTTP towards a server: each message is a POST of its own, whose answer may be a stream. */
export class HttpTransport extends ServerTransport implements StreamHost {
  declare protected readonly options: HttpTransportOptions;

  override post(text: string, method: string, wireId: number, use: PostUse = {}): Post {
    const done = (error?: GatewayError): void => {
      if (error !== undefined && wireId === 0) this.warn(error.message, error.detail);
      use.done?.(error);
    };
    const { session } = this.owner;
    const headers = this.headersOf(method, use);
    const { begun, reach } = use;
    const post = new Post({ session, text, method, wireId, headers, reach, begun, done }, this);
    this.inFlight.add(post);
    post.begin();
    return post;
  }

  /**
   * Opens a stream, or takes one up again.
   * @param contended another process may have a stream of the same session, for now
   * @param reach the way of the caller whose call the stream is for; absent: the way of the newest caller
   */
  listen(
    wireId: number,
    session: PinnedSession,
    place: StreamPlace,
    contended = false,
    reach?: Reach,
  ): ServerStream {
    const note = (message: string, detail: string): void => this.warn(message, detail);
    const { now } = this.options;
    const listening = new ServerStream({ session, wireId, place, contended, reach, now, note }, this);
    this.inFlight.add(listening);
    listening.begin();
    return listening;
  }

  /** 2026-07-28, Standard Request Headers: every request names its method. */
  private headersOf(method: string, { headers }: PostUse): readonly HeaderLine[] | undefined {
    if (this.options.era !== 'modern' || method === '') return headers;
    return [['mcp-method', headerValue(method)], ...(headers ?? [])];
  }

  protected override originOf(wireId: number): MessageOrigin {
    return this.calling.get(wireId) ?? 'aside';
  }

  override failed(wireId: number, error: GatewayError): void {
    // Servers of the modern era say in a message what is wrong with a request.
    if (this.options.era === 'modern' && isNotUnderstood(error)) this.owner.doubted?.();
    super.failed(wireId, error);
  }

  // StreamHost

  broken(session: PinnedSession, wireId: number, { lastId, retryMs }: StreamPlace, reach?: Reach): void {
    // Streams of the modern era cannot be resumed, whatever ids their events have.
    if (this.options.era === 'modern')
      this.failed(
        wireId,
        targetError('mcp_target_failed', this.name, 'broke its stream off before it answered'),
      );
    else if (session === this.owner.session) this.listen(wireId, session, { lastId, retryMs }, false, reach);
    else this.failed(wireId, targetError('mcp_target_failed', this.name, 'lost the session of the call'));
  }
}
