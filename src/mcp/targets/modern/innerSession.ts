import type { RetainedMemory } from '../../limits/retainedMemory.ts';
import type { Era } from '../../messages/eras.ts';
import type { Envelope } from '../../json/envelope.ts';
import type {
  CanSeeResource,
  MessageOrigin,
  Opening,
  TargetConnection,
  TargetListener,
} from '../kind/target.ts';
import type { TargetSession } from '../kind/targetRuntime.ts';

/** A session as a connection inside of another connection sees it: another listener hears of the server. */
export class InnerSession implements TargetSession {
  private readonly session: TargetSession;
  private readonly listener: TargetListener;

  constructor(session: TargetSession, listener: TargetListener) {
    this.session = session;
    this.listener = listener;
  }

  get backendKey(): string {
    return this.session.backendKey;
  }

  get principal(): string | undefined {
    return this.session.principal;
  }

  get holder(): string {
    return this.session.holder;
  }

  get unused(): boolean {
    return this.session.unused;
  }

  get lastUsedAt(): number {
    return this.session.lastUsedAt;
  }

  get idle(): boolean {
    return this.session.idle;
  }

  get keep(): RetainedMemory {
    return this.session.keep;
  }

  get resumed(): boolean {
    return this.session.resumed;
  }

  get shared(): boolean {
    return this.session.shared;
  }

  get hearsOfLists(): boolean {
    return this.session.hearsOfLists;
  }

  get era(): Era {
    return this.session.era;
  }

  onMessage(target: TargetConnection, message: Envelope, belongsTo?: MessageOrigin): void {
    this.listener.onMessage(target, message, belongsTo);
  }

  canSeeResource(target: TargetConnection): CanSeeResource | undefined {
    return this.listener.canSeeResource(target);
  }

  onDown(target: TargetConnection): void {
    this.listener.onDown(target);
  }

  onAgain(target: TargetConnection): void {
    this.listener.onAgain?.(target);
  }

  onUp(target: TargetConnection): void {
    this.listener.onUp?.(target);
  }

  onRefused(target: TargetConnection, opening: Opening): void {
    this.listener.onRefused?.(target, opening);
  }

  onGone(target: TargetConnection): void {
    this.listener.onGone(target);
  }

  onTaken(target: TargetConnection): void {
    this.listener.onTaken(target);
  }
}
