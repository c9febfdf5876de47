import { asGatewayError } from '../../../errors.ts';
import type { ChildEnvironment } from '../../contract.ts';
import type { RpcId } from '../../json/envelope.ts';
import type { Outgoing } from '../../messages/outgoing.ts';
import { targetError } from '../../messages/rpcError.ts';
import type { TargetConnection, TargetView, Waiter } from '../kind/target.ts';
import type { TargetSession } from '../kind/targetRuntime.ts';
import type { SharedChild } from './sharedChild.ts';
import { SharedConnection } from './sharedConnection.ts';

export interface UserConnectionStart {
  readonly name: string;
  readonly session: TargetSession;
  /** The values of the caller when the session began. @throws GatewayError */
  readonly environment: ChildEnvironment | undefined;
  /** The child of the principal with these values. */
  readonly childFor: (environment: ChildEnvironment | undefined) => SharedChild;
  /** The session changes over to another child. */
  readonly onReplaced: () => void;
  /** The session can go on with another child. */
  readonly resume: boolean;
}

/**
 * The use of a program with `scope: user` by one session of the user. The session changes over to another child when
 * the values of its caller change, when one of them ends, and when the child is gone. Calls in progress end with the
 * child that got them.
 */
export class UserConnection implements TargetConnection {
  readonly name: string;
  private readonly start: UserConnectionStart;
  private environment: ChildEnvironment | undefined;
  /** Undefined while the session is parked. */
  private current: SharedConnection | undefined;
  /** Children that still have calls of the session. */
  private readonly former = new Set<SharedConnection>();
  /** The first request of the session. */
  private opening: Outgoing | undefined;
  private starts = 0;
  private isPaused = false;
  private closed = false;

  constructor(start: UserConnectionStart) {
    this.start = start;
    this.name = start.name;
    this.environment = start.environment;
    this.current = this.connect();
  }

  get generation(): number {
    return this.starts + (this.current?.generation ?? 0);
  }

  private connect(): SharedConnection {
    const { session, childFor } = this.start;
    const connection = new SharedConnection(childFor(this.environment), () => ({
      isIdle: () => session.idle,
      onMessage: (message, origin) => session.onMessage(this, message, origin),
      onDown: () => session.onDown(this),
      onUp: () => session.onUp?.(this),
      onRefused: (opening) => session.onRefused?.(this, opening),
      // The session joins the next child with its next message.
      onReplaced: () => this.leaveChild(),
    }));
    if (this.isPaused) connection.pause();
    return connection;
  }

  open(initialize: Outgoing, waiter: Waiter): void {
    this.opening = { envelope: initialize.envelope, token: undefined, edits: [] };
    this.connection.open(initialize, waiter);
  }

  inject(environment: ChildEnvironment): void {
    if (environment.digest === this.environment?.digest || this.closed) return;
    this.environment = environment;
    this.start.onReplaced();
    this.leaveChild();
  }

  /** The child for the next message: another one where the last one is ending. */
  private get connection(): SharedConnection {
    if (this.current?.isEnding === true) this.leaveChild();
    if (this.current === undefined) {
      this.current = this.connect();
      this.starts++;
      // Calls wait in the child for the answer; where there is none, they fail with the reason.
      if (this.opening !== undefined) this.current.open(this.opening, this.reopened);
    }
    return this.current;
  }

  /** Another child may have other lists. */
  private readonly reopened: Waiter = {
    answered: ({ isError }) => {
      if (!isError) this.start.session.onUp?.(this);
    },
    failed: () => undefined,
  };

  /** The child is tried again that all sessions of the user share. */
  retry(): void {
    this.current?.retry();
  }

  private leaveChild(): void {
    const { current } = this;
    if (current === undefined) return;
    this.current = undefined;
    // The next child starts anew: ids of its starts are others.
    this.starts += current.generation + 1;
    this.former.add(current);
    this.closeFormer();
  }

  /** Calls without an end of their own begin again with the next child. */
  private closeFormer(): void {
    for (const connection of this.former) {
      if ([...connection.calls()].some(([, { standing }]) => standing !== true)) continue;
      this.former.delete(connection);
      connection.end('was replaced');
    }
  }

  private *all(): Iterable<SharedConnection> {
    if (this.current !== undefined) yield this.current;
    yield* this.former;
  }

  call(out: Outgoing, waiter: Waiter): number {
    if (this.closed) {
      waiter.failed(targetError('mcp_target_failed', this.name, 'has been stopped'));
      return 0;
    }
    try {
      if (out.environment !== undefined) this.inject(out.environment);
      return this.connection.call(out, waiter);
    } catch (error) {
      waiter.failed(asGatewayError(error));
      return 0;
    }
  }

  send(text: string, method?: string): void {
    // The children of the program have no id of a call in common.
    for (const connection of this.all()) connection.send(text, method);
  }

  pending(wireId: RpcId): Waiter | undefined {
    for (const connection of this.all()) {
      const found = connection.pending(wireId);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  *calls(): Iterable<[number, Waiter]> {
    for (const connection of this.all()) yield* connection.calls();
  }

  dropAbandoned(): boolean {
    for (const connection of this.all()) if (connection.dropAbandoned()) return true;
    return false;
  }

  forget(wireId: number): void {
    for (const connection of this.all()) connection.forget(wireId);
  }

  progressed(wireId: number): void {
    for (const connection of this.all()) connection.progressed(wireId);
  }

  /** The server has no client that could answer it. */
  hold(): void {}

  pause(): void {
    this.isPaused = true;
    for (const connection of this.all()) connection.pause();
  }

  resume(): void {
    this.isPaused = false;
    for (const connection of this.all()) connection.resume();
  }

  /** A session that is idle for long leaves its child to the other sessions. */
  park(): boolean {
    if (!this.start.resume) return false;
    this.leaveChild();
    return true;
  }

  tick(): void {
    if (this.former.size > 0) this.closeFormer();
  }

  async close(): Promise<void> {
    this.closed = true;
    const all = [...this.all()];
    this.current = undefined;
    this.former.clear();
    await Promise.all(all.map((connection) => connection.close()));
  }

  view(): TargetView {
    const pending = [...this.calls()].length;
    const { current } = this;
    if (current !== undefined) return { ...current.view(), pending };
    return {
      name: this.name,
      state: this.closed ? 'closed' : 'suspended',
      pid: undefined,
      restarts: 0,
      pending,
      lastError: undefined,
    };
  }
}
