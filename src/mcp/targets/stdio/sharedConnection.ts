import { GatewayError } from '../../../errors.ts';
import {
  cut,
  edited,
  memberOf,
  stringValue,
  type Envelope,
  type RpcId,
  type Span,
} from '../../json/envelope.ts';
import { ownResult } from '../../json/ownMessage.ts';
import type { Edit } from '../../json/scan.ts';
import type { Outgoing } from '../../messages/outgoing.ts';
import { targetError } from '../../messages/rpcError.ts';
import type { LargeAnswer, Opening, TargetConnection, TargetView, Waiter } from '../kind/target.ts';
import type { ChildUser, SharedChild } from './sharedChild.ts';

/**
 * Requests that change what a server does for its session. The session of the request ends with it, and a shared child
 * must not do for others what one caller asked for: the gateway answers.
 */
const lasting: ReadonlySet<string> = new Set([
  'logging/setLevel',
  'resources/subscribe',
  'resources/unsubscribe',
]);

/** News that waits during a pause. */
const maxLate = 256;

/** The session that uses the child, as its connection sees it. */
export interface SharedUser {
  isIdle(): boolean;
  onMessage(message: Envelope, origin?: 'aside'): void;
  onDown(): void;
  onUp?(): void;
  onRefused?(opening: Opening): void;
  onReplaced?(): void;
}

/** The use of a child by a session, while other sessions use it, too. */
export class SharedConnection implements TargetConnection, ChildUser {
  readonly name: string;
  private readonly child: SharedChild;
  private readonly user: SharedUser;
  private isPaused = false;
  /** News that came during a pause, the newest of each kind. */
  private readonly late = new Map<string, Envelope>();

  constructor(child: SharedChild, userOf: (connection: SharedConnection) => SharedUser) {
    this.name = child.name;
    this.child = child;
    this.user = userOf(this);
    child.enter(this);
  }

  get generation(): number {
    return this.child.connection.generation;
  }

  open(initialize: Outgoing, waiter: Waiter): void {
    const { isOnePrincipals } = this.child;
    this.child.open(initialize, {
      answered: (response) => waiter.answered(answerTo(initialize.envelope, response, isOnePrincipals)),
      failed: (error) => waiter.failed(error),
    });
  }

  /** No session can begin to use the child. */
  get isEnding(): boolean {
    return this.child.isEnding;
  }

  get idle(): boolean {
    return this.user.isIdle();
  }

  call(out: Outgoing, waiter: Waiter): number {
    if (out.envelope.method === 'resources/subscribe' && this.child.isOnePrincipals) {
      // The session would wait for news that never come.
      waiter.failed(
        new GatewayError('mcp_unknown_method', {
          message: 'the program serves several sessions (scope: user) and takes no subscriptions',
        }),
      );
      return 0;
    }
    if (lasting.has(out.envelope.method)) {
      waiter.answered(ownResult('{}'));
      return 0;
    }
    return this.child.connection.call(out, new OwnWaiter(this, waiter));
  }

  /** The server knows of no client: only what takes a call back is for it. */
  send(text: string, method?: string): void {
    if (method === 'notifications/cancelled') this.child.connection.send(text, method);
  }

  pending(wireId: RpcId): Waiter | undefined {
    return this.own(this.child.connection.pending(wireId));
  }

  *calls(): Iterable<[number, Waiter]> {
    for (const [wireId, waiter] of this.child.connection.calls()) {
      const own = this.own(waiter);
      if (own !== undefined) yield [wireId, own];
    }
  }

  /** The waiter of the session, where the call is one of this connection. */
  private own(waiter: Waiter | undefined): Waiter | undefined {
    return waiter instanceof OwnWaiter && waiter.owner === this ? waiter.waiter : undefined;
  }

  dropAbandoned(): boolean {
    return this.child.connection.dropAbandoned();
  }

  forget(wireId: number): void {
    this.child.connection.forget(wireId);
  }

  progressed(wireId: number): void {
    this.child.connection.progressed(wireId);
  }

  /** The server has no client that could answer it. */
  hold(): void {}

  /** A slow client must not hold up the others, so the child is read on: only this session takes no news. */
  pause(): void {
    this.isPaused = true;
  }

  resume(): void {
    this.isPaused = false;
    const late = [...this.late.values()];
    this.late.clear();
    for (const message of late) this.user.onMessage(message, 'aside');
  }

  heard(message: Envelope, wireId: number): void {
    // Later progress tells more, and the response comes in any case.
    if (this.isPaused) this.progressed(wireId);
    else this.user.onMessage(message);
  }

  heardAside(message: Envelope, kind: string): void {
    if (!this.isPaused) {
      this.user.onMessage(message, 'aside');
      return;
    }
    this.late.set(kind, message);
    if (this.late.size <= maxLate) return;
    const [oldest] = this.late.keys();
    this.late.delete(oldest!);
  }

  down(): void {
    this.user.onDown();
  }

  up(): void {
    this.user.onUp?.();
  }

  refused(opening: Opening): void {
    this.user.onRefused?.(opening);
  }

  replaced(): void {
    this.user.onReplaced?.();
  }

  retry(): void {
    this.child.connection.retry?.();
  }

  close(): Promise<void> {
    this.end('has been stopped');
    return this.child.whenEnded;
  }

  /** The session leaves the child. @param why its calls fail */
  end(why: string): void {
    for (const [wireId, waiter] of [...this.calls()]) {
      const params = JSON.stringify({ requestId: wireId, reason: 'client left' });
      this.child.connection.send(
        `{"jsonrpc":"2.0","method":"notifications/cancelled","params":${params}}`,
        'notifications/cancelled',
      );
      this.forget(wireId);
      waiter.failed(targetError('mcp_target_failed', this.name, why));
    }
    this.child.exit(this);
  }

  view(): TargetView {
    return { ...this.child.connection.view(), pending: [...this.calls()].length };
  }
}

/**
 * The answer of the server to the gateway's own `initialize`, for a client: of the older of both revisions, and without
 * subscriptions where the session takes none.
 */
function answerTo({ method, text, body }: Envelope, response: Envelope, withoutNews: boolean): Envelope {
  if (method !== 'initialize' || response.isError) return response;
  const asked = memberOf(text, body, 'protocolVersion');
  const given = memberOf(response.text, response.body, 'protocolVersion');
  const edits: Edit[] = [];
  if (typeof asked === 'object' && typeof given === 'object' && isOlder(text, asked, response.text, given))
    edits.push({ ...given, replacement: cut(text, asked) });
  const capabilities = memberOf(response.text, response.body, 'capabilities');
  const resources = typeof capabilities === 'object' && memberOf(response.text, capabilities, 'resources');
  const subscribe = typeof resources === 'object' && memberOf(response.text, resources, 'subscribe');
  if (withoutNews && typeof subscribe === 'object') edits.push({ ...subscribe, replacement: 'false' });
  return edited(response, edits);
}

/** Revisions of MCP are dates. */
const isOlder = (text: string, place: Span, otherText: string, other: Span): boolean =>
  (stringValue(text, place) ?? '') < (stringValue(otherText, other) ?? '');

/** Waits in the place of the session's own waiter, and tells whose call it is. */
class OwnWaiter implements Waiter {
  readonly owner: SharedConnection;
  readonly waiter: Waiter;

  constructor(owner: SharedConnection, waiter: Waiter) {
    this.owner = owner;
    this.waiter = waiter;
  }

  get abandoned(): boolean {
    return this.waiter.abandoned === true;
  }

  get standing(): boolean {
    return this.waiter.standing === true;
  }

  answered(response: Envelope): void {
    this.waiter.answered(response);
  }

  failed(error: GatewayError): void {
    this.waiter.failed(error);
  }

  beginLarge(): LargeAnswer | undefined {
    return this.waiter.beginLarge?.();
  }
}
