import { GatewayError } from '../../errors.ts';
import type { StdioTarget } from '../../model/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import type { Envelope, RpcId } from '../json/envelope.ts';
import { renderOutgoing, type Outgoing } from '../outgoing.ts';
import { targetError } from '../sendError.ts';
import type { TargetConnection, TargetListener, TargetState, TargetView, Waiter } from '../target.ts';
import { Backoff, type RestartPolicy } from '../conversation/backoff.ts';
import type { Child, ChildEvents } from './child.ts';
import type { Children } from './children.ts';
import { handOver } from '../conversation/handOver.ts';
import { idOfLongLine } from '../conversation/longLine.ts';
import { PendingCalls } from '../conversation/pendingCalls.ts';
import { QuietLog } from '../conversation/quietLog.ts';
import { readMessages } from '../conversation/readMessages.ts';
import { Restore } from '../conversation/restore.ts';
import { StderrLog } from './stderrLog.ts';

export interface StdioOptions {
  readonly children: Children;
  readonly restart: RestartPolicy;
  readonly log: Logger;
  readonly listener: TargetListener;
  readonly now: () => number;
  readonly onRestart: (target: string) => void;
}

/** Calls of one session that may wait for one target; a client that needs more is not waiting for answers. */
const maxPending = 1_024;
/** Messages that wait for a restart. */
const maxWaiting = 64;
/** Bytes that a child may leave unread on its stdin before calls to it are refused. */
const maxBacklog = 8_388_608;
/** What a child gets to leave when a session ends, in milliseconds. */
const stopGraceMs = 3_000;

/** One stdio server of one session: it is started, spoken to, restarted where it dies, and stopped. */
export class StdioConnection implements TargetConnection {
  readonly name: string;
  generation = 0;
  private readonly target: StdioTarget;
  private readonly options: StdioOptions;
  private readonly backoff: Backoff;
  private readonly restore = new Restore();
  private readonly stderr: StderrLog;
  private readonly garbage: QuietLog;
  private readonly calling = new PendingCalls();
  private state: TargetState = 'starting';
  private child: Child | undefined;
  private restarts = 0;
  private lastError: string | undefined;
  private timer: NodeJS.Timeout | undefined;
  private paused = false;
  /** Resolves when the last child is gone. */
  private leaving: Promise<void> = Promise.resolve();

  constructor(target: StdioTarget, options: StdioOptions) {
    this.name = target.name;
    this.target = target;
    this.options = options;
    this.backoff = new Backoff(options.restart, options.now);
    this.stderr = new StderrLog(options.log);
    this.garbage = new QuietLog(options.log, 'the target wrote something that is no MCP message; skipped');
  }

  open(out: Outgoing, waiter: Waiter): void {
    this.restore.begin(out.envelope);
    const begun = this.begin();
    if (begun !== undefined) {
      this.state = 'closed';
      waiter.failed(begun);
      return;
    }
    const wireId = this.calling.nextId();
    this.calling.add(wireId, {
      answered: (response) => {
        clearTimeout(this.timer);
        if (response.isError) void this.close(stopGraceMs);
        else this.ready();
        waiter.answered(response);
      },
      failed: (error) => {
        clearTimeout(this.timer);
        void this.close(stopGraceMs);
        waiter.failed(error);
      },
    });
    this.armStart(() => this.calling.fail(this.startTimedOut()));
    this.writeNow(renderOutgoing(out, wireId));
  }

  call(out: Outgoing, waiter: Waiter): number {
    const refusal = this.refusal();
    if (refusal !== undefined) {
      waiter.failed(refusal);
      return 0;
    }
    const wireId = this.calling.nextId();
    const line = renderOutgoing(out, wireId);
    const note = this.restore.note(out.envelope);
    if (note !== undefined) this.calling.note(wireId, note);
    if (this.state === 'ready') {
      this.calling.add(wireId, waiter);
      this.writeNow(line);
      return wireId;
    }
    this.calling.delay(wireId, waiter, line, out.envelope.method);
    if (this.state === 'failed') this.retry();
    return wireId;
  }

  /** Why a call cannot be taken now, or undefined. */
  private refusal(): GatewayError | undefined {
    if (this.state === 'closed') return targetError('mcp_target_failed', this.name, 'has been stopped');
    if (this.state === 'failed' && !this.backoff.mayTry)
      return targetError(
        'mcp_target_failed',
        this.name,
        `keeps failing: it ${this.lastError}; try again later`,
      );
    if (this.calling.size >= maxPending && !this.dropAbandoned())
      return targetError('mcp_target_failed', this.name, 'has too many calls waiting');
    if (this.state === 'ready') {
      if (this.child!.backlog > maxBacklog)
        return targetError('mcp_target_failed', this.name, 'does not read its messages');
    } else if (this.calling.delayedSize >= maxWaiting)
      return targetError('mcp_target_failed', this.name, 'is restarting and has too many calls waiting');
    return undefined;
  }

  /** Makes room by giving up a call whose client has left; the target is told that nobody waits. */
  private dropAbandoned(): boolean {
    const wireId = this.calling.dropAbandoned();
    if (wireId === undefined) return false;
    const params = `{"requestId":${wireId},"reason":"client left"}`;
    this.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":${params}}`);
    return true;
  }

  send(text: string, method?: string): void {
    if (method === 'notifications/initialized') this.restore.confirm(text);
    if (this.state === 'ready' && this.child!.backlog <= maxBacklog) this.writeNow(text);
  }

  pending(wireId: RpcId): Waiter | undefined {
    return this.calling.get(wireId);
  }

  calls(): Iterable<[number, Waiter]> {
    return this.calling.all();
  }

  forget(wireId: number): void {
    this.calling.forget(wireId);
  }

  pause(): void {
    this.paused = true;
    this.child?.pause();
  }

  resume(): void {
    this.paused = false;
    this.child?.resume();
  }

  close(graceMs: number): Promise<void> {
    this.state = 'closed';
    clearTimeout(this.timer);
    this.calling.failAll(targetError('mcp_target_failed', this.name, 'has been stopped'));
    const child = this.child;
    if (child === undefined) return this.leaving;
    child.stop(graceMs);
    this.leaving = child.gone;
    return child.gone;
  }

  view(): TargetView {
    return {
      name: this.name,
      state: this.state,
      pid: this.child?.pid,
      restarts: this.restarts,
      pending: this.calling.size,
      lastError: this.lastError,
    };
  }

  /** Starts a child; answers why it could not be. */
  private begin(): GatewayError | undefined {
    const { children } = this.options;
    if (children.full)
      return new GatewayError('mcp_overloaded', { retryAfter: 5, detail: 'limits.maxChildren' });
    let child: Child | undefined;
    const events: ChildEvents = {
      onLine: (text) => {
        if (child === this.child) this.onLine(text);
      },
      onTooLong: (head, tail, bytes) => {
        if (child === this.child) this.onTooLong(head, tail, bytes);
      },
      onStderr: (line) => this.stderr.line(line),
      onDown: (reason, detail) => {
        if (child === this.child) this.onDown(reason, detail);
      },
    };
    try {
      child = children.start(this.target, events);
    } catch (error) {
      const detail = error instanceof Error ? error.message : String(error);
      return targetError('mcp_target_failed', this.name, `could not be started`, detail);
    }
    this.child = child;
    this.leaving = child.gone;
    if (this.paused) child.pause();
    this.options.log.debug('target started', { pid: child.pid });
    return undefined;
  }

  private onLine(text: string): void {
    const messages = readMessages(text);
    if (typeof messages === 'string') {
      const wireId = messages === 'not_json' ? idOfLongLine(text.slice(0, 512), text.slice(-512)) : undefined;
      this.garbage.warn({ why: messages, line: text.slice(0, 200) });
      if (wireId !== undefined)
        this.calling
          .take(wireId)
          ?.failed(targetError('mcp_target_failed', this.name, 'answered with broken JSON'));
      return;
    }
    for (const message of messages) {
      try {
        this.onMessage(message);
      } catch (error) {
        // A defect must not take every other session down with it.
        const stack = error instanceof Error ? error.stack : String(error);
        this.options.log.error('a message of the target could not be handled', { stack });
      }
    }
  }

  private onMessage(message: Envelope): void {
    if (message.kind !== 'response') {
      this.options.listener.onMessage(this, message);
      return;
    }
    const waiter = this.calling.settle(message);
    if (waiter !== undefined) handOver(waiter, message);
    else this.options.log.debug('the target answered a call that does not wait', { id: String(message.id) });
  }

  private onTooLong(head: string, tail: string, bytes: number): void {
    this.options.log.warn('the target wrote a line over limits.maxMcpMessageBytes; skipped', { bytes });
    // One call in flight: the line can hardly be about anything else.
    const wireId = idOfLongLine(head, tail) ?? this.calling.sole;
    if (wireId === undefined) return;
    this.calling
      .take(wireId)
      ?.failed(targetError('mcp_message_too_large', this.name, 'answered with a message that is too large'));
  }

  private onDown(reason: string, detail?: string): void {
    const child = this.child!;
    this.child = undefined;
    this.lastError = reason;
    if (this.state === 'closed') return;
    const first = this.state === 'starting';
    clearTimeout(this.timer);
    this.options.log.warn(`the target ${reason}`, { pid: child.pid, detail, stderr: this.stderr.last() });
    if (!first) this.state = 'restarting';
    this.calling.fail(targetError('mcp_target_failed', this.name, reason, detail));
    this.options.listener.onDown(this);
    // The next one starts when nothing of this one is left: they may share files or ports.
    if (!first) void child.gone.then(() => this.afterFailure());
  }

  private afterFailure(): void {
    if (this.state === 'closed') return;
    const delay = this.backoff.failure();
    const impatient = this.calling.delayedFor > this.target.startTimeoutMs;
    if (delay === undefined || impatient)
      this.calling.failAll(
        targetError('mcp_target_failed', this.name, `keeps failing: it ${this.lastError}`),
      );
    if (delay === undefined) {
      this.state = 'failed';
      this.options.log.error('the target keeps failing; given up until it is called again', {
        reason: this.lastError,
      });
      return;
    }
    this.timer = setTimeout(() => this.retry(), delay).unref();
  }

  /** Starts the server again and tells it what the former one knew. */
  private retry(): void {
    this.state = 'restarting';
    const refused = this.begin();
    if (refused !== undefined) {
      this.lastError = `could not be restarted (${refused.message})`;
      this.afterFailure();
      return;
    }
    this.restarts++;
    this.generation++;
    this.options.onRestart(this.name);
    const wireId = this.calling.nextId();
    this.calling.add(wireId, {
      answered: (response) => {
        clearTimeout(this.timer);
        if (response.isError) this.restartFailed('refused to initialize again');
        else this.restarted();
      },
      // The child died (onDown goes on from there) or the session closes.
      failed: () => undefined,
    });
    this.armStart(() =>
      this.restartFailed(`did not answer initialize within ${this.target.startTimeoutMs} ms`),
    );
    this.writeNow(this.restore.beginning(wireId));
  }

  private restartFailed(reason: string): void {
    const child = this.child;
    if (child === undefined) return;
    this.child = undefined;
    this.lastError = reason;
    this.options.log.warn(`the target ${reason}`, { pid: child.pid, stderr: this.stderr.last() });
    this.calling.fail(targetError('mcp_target_failed', this.name, reason));
    child.stop(0);
    void child.gone.then(() => this.afterFailure());
  }

  private restarted(): void {
    this.options.log.info('the target was restarted', { pid: this.child?.pid, restarts: this.restarts });
    if (this.restore.initialized !== undefined) this.writeNow(this.restore.initialized);
    for (const [wireId, text] of this.restore.requests(() => this.calling.nextId())) {
      this.calling.add(wireId, ignored);
      this.writeNow(text);
    }
    this.ready();
  }

  private ready(): void {
    this.state = 'ready';
    for (const { line } of this.calling.release()) this.writeNow(line);
  }

  private startTimedOut(): GatewayError {
    return targetError(
      'mcp_target_timeout',
      this.name,
      `did not answer initialize within ${this.target.startTimeoutMs} ms`,
      this.stderr.last(),
    );
  }

  private armStart(late: () => void): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(late, this.target.startTimeoutMs).unref();
  }

  private writeNow(line: string): void {
    if (this.child !== undefined) this.options.children.write(this.child, line);
  }
}

const ignored: Waiter = { answered: () => undefined, failed: () => undefined };
