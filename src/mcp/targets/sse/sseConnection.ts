import type { GatewayError } from '../../../errors.ts';
import type { Reach } from '../../contract.ts';
import type { UnheardCall } from '../conversation/inFlightRequest.ts';
import { targetError } from '../../messages/rpcError.ts';
import type { PinnedSession } from '../conversation/pinnedSession.ts';
import { RemoteConnection } from '../conversation/remoteConnection.ts';
import { newSseSession, type SseSession } from './sseSession.ts';
import { SseTransport, type SseOwner } from './sseTransport.ts';

/**
 * A session with a server that speaks HTTP+SSE (MCP 2024-11-05). When its event stream ends, its calls fail, and the
 * session begins again with another stream, as with a child that is restarted.
 */
export class SseConnection extends RemoteConnection<SseSession, SseTransport> implements SseOwner {
  override newSession(): SseSession {
    return newSseSession();
  }

  protected override newTransport(): SseTransport {
    return new SseTransport(this.target, this.options.reach, this, this.options);
  }

  /** The server sees the end of the stream. */
  protected override endAt(_reach: Reach, session: SseSession): void {
    this.transport.breakOff(session, targetError('mcp_target_failed', this.name, 'is another server now'));
  }

  protected override begin(text: string, method: string, wireId: number): void {
    this.transport.post(text, method, wireId);
  }

  // TargetConnection

  override use(reach: Reach): void {
    this.transport.reach = reach;
    const opened = this.session.stream?.reach;
    if (this.state !== 'ready' || opened === undefined || opened.destination === reach.destination) return;
    // Calls under way at the former server still end there.
    this.former.add(opened, this.session);
    this.reinitialization.begin('is another server now');
  }

  override close(): Promise<void> {
    if (this.state !== 'closed') {
      this.stop();
      this.transport.inFlight.abandon();
    }
    return Promise.resolve();
  }

  // SseOwner

  ended(session: PinnedSession, error: GatewayError, why: string): void {
    if (session !== this.session) return;
    if (this.state === 'ready') this.reinitialization.begin(why);
    else if (this.state === 'restarting')
      this.reinitialization.failed(this.session, `failed to initialize again (${error.message})`);
  }

  override lost(session: PinnedSession, why: string, wireId: number, unheard?: UnheardCall): void {
    if (session === this.session && this.state === 'ready')
      this.transport.breakOff(this.session, targetError('mcp_target_failed', this.name, why));
    super.lost(session, why, wireId, unheard);
  }
}
