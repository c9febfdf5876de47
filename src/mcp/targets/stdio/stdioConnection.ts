import { asGatewayError, type GatewayError } from '../../../errors.ts';
import { messageOf } from '../../../errorText.ts';
import type { StdioTarget } from '../../../model/index.ts';
import { ThrottledLog, type Logger } from '../../../telemetry/index.ts';
import type { ChildEnvironment } from '../../contract.ts';
import type { Envelope, RpcId } from '../../json/envelope.ts';
import { renderOutgoing, type Outgoing } from '../../messages/outgoing.ts';
import { lateError, targetError } from '../../messages/rpcError.ts';
import type { ConnectionOptions, Tenant as SessionActivity } from '../kind/targetRuntime.ts';
import type { CanSeeResource, TargetConnection, TargetState, TargetView, Waiter } from '../kind/target.ts';
import { maxBacklog } from '../conversation/backlog.ts';
import { Backoff } from '../conversation/backoff.ts';
import type { Child, ChildEvents } from './child.ts';
import type { Children } from './children.ts';
import { CallTimeouts, type CallLimit } from '../../limits/callTimeouts.ts';
import { idOfLongLine } from '../conversation/longLine.ts';
import { PendingCalls, type Delayed, type IdSequence } from '../conversation/pendingCalls.ts';
import { MessageReader } from '../conversation/messageReader.ts';
import type { MessageReceiver } from '../conversation/messageReceiver.ts';
import { SessionReplay, type WireRequest } from '../conversation/sessionReplay.ts';
import type { Claim, Slot, SlotUser } from './slots.ts';
import { failureOf } from './failure.ts';
import { StderrLog } from './stderrLog.ts';
import { ValueRemover } from './valueRemover.ts';
import { StateClock } from '../kind/stateClock.ts';

export interface StdioOptions extends ConnectionOptions {
  readonly children: Children;
  readonly activity: SessionActivity;
  /** The child was taken to make room for another session. */
  readonly onEvicted: (target: string) => void;
  /** The values of the caller; undefined where the target has none. */
  readonly environment?: ChildEnvironment | undefined;
  /** The child is replaced, because the values of its caller have changed. */
  readonly onReplaced: (target: string) => void;
  /** Absent: the ids of its calls are its own. */
  readonly ids?: IdSequence;
}

/** Calls of one session that may wait for one target; a client that needs more is not waiting for answers. */
const maxPending = 1_024;
/** Messages that wait for a restart. */
const maxWaiting = 64;
/** The time for a child to leave when a session ends, in milliseconds. */
const stopGraceMs = 3_000;

/**
 * A stdio server of a session: it is started, spoken to, restarted where it dies, and stopped. While the session is
 * idle its child may be taken for another session; the child is started again when the session comes back.
 */
export class StdioConnection implements TargetConnection, SlotUser, MessageReceiver {
  readonly name: string;
  generation = 0;
  private readonly target: StdioTarget;
  private readonly options: StdioOptions;
  private readonly backoff: Backoff;
  private readonly replay: SessionReplay;
  private readonly stderr: StderrLog;
  readonly log: Logger;
  readonly calling: PendingCalls;
  private readonly reader: MessageReader;
  private readonly clocks: CallTimeouts;
  private readonly lateCalls: ThrottledLog;
  private readonly clock = new StateClock();
  private child: Child | undefined;
  private restarts = 0;
  private lastError: string | undefined;
  /** The same for clients, with the time and the log entry. */
  private lastFailureMessage = '';
  private timer: NodeJS.Timeout | undefined;
  private paused = false;
  /** The values of the newest caller. */
  private environment: ChildEnvironment | undefined;
  /** Names the values of the child. */
  private childDigest: string | undefined;
  /** The right to have a child; absent where the child was taken, failed for good, or has yet to be made room for. */
  private slot: Slot | undefined;
  private claim: Claim | undefined;
  /** The initialize of the client, while it waits for room. */
  private unopened: Waiter | undefined;
  /** Resolves when the last child is gone. */
  private leaving: Promise<void> = Promise.resolve();

  constructor(target: StdioTarget, options: StdioOptions) {
    this.name = target.name;
    this.target = target;
    this.options = options;
    this.environment = options.environment;
    this.calling = new PendingCalls(options.ids);
    this.backoff = new Backoff(options.restart, options.now);
    this.stderr = new StderrLog(options.log);
    this.log = options.log;
    this.replay = new SessionReplay(options.keep);
    this.reader = new MessageReader(this);
    this.lateCalls = new ThrottledLog(options.log, 'Call timed out; the target was told');
    this.clocks = new CallTimeouts(
      () => options.limits().maxMcpCallTimeMs,
      (wireId, limit) => this.tooLate(wireId, limit),
    );
  }

  open(out: Outgoing, waiter: Waiter): void {
    this.replay.begin(out.envelope);
    const failed = (error: GatewayError): void => {
      this.unopened = undefined;
      this.state = 'closed';
      this.freeSlot();
      waiter.failed(error);
    };
    this.unopened = waiter;
    this.withSlot(() => {
      this.unopened = undefined;
      const error = this.begin();
      if (error === undefined) this.first(out, waiter);
      else failed(error);
    }, failed);
  }

  /** Says the first initialize to the child that was just started. */
  private first(out: Outgoing, waiter: Waiter): void {
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
    const environment = out.environment ?? this.environment;
    const refusal = this.refusal(environment);
    if (refusal !== undefined) {
      waiter.failed(refusal);
      return 0;
    }
    const wireId = this.calling.nextId();
    const line = renderOutgoing(out, wireId);
    const note = this.replay.note(out.envelope, out.edits);
    if (note !== undefined) this.calling.note(wireId, note);
    if (out.limit !== undefined) this.clocks.start(wireId, out.limit);
    if (this.canTake(environment)) {
      this.calling.add(wireId, waiter);
      this.writeNow(line);
      return wireId;
    }
    this.calling.delay({ wireId, waiter, line, method: out.envelope.method, environment });
    this.replaceChild();
    if (this.state === 'failed') {
      this.state = 'restarting';
      this.withSlot(() => this.restart(), this.noRoom);
    } else if (this.state === 'suspended') this.wake();
    return wireId;
  }

  /** The reason why a call cannot be taken now, or undefined. */
  private refusal(environment: ChildEnvironment | undefined): GatewayError | undefined {
    if (this.state === 'closed') return targetError('mcp_target_failed', this.name, 'has been stopped');
    if (this.state === 'failed' && !this.backoff.mayTry)
      return targetError(
        'mcp_target_failed',
        this.name,
        `keeps failing: it ${this.lastFailureMessage}; try again later`,
      );
    if (this.calling.size >= maxPending && !this.dropAbandoned())
      return targetError('mcp_target_failed', this.name, 'has too many calls waiting');
    if (this.canTake(environment)) {
      if (this.child!.backlog > maxBacklog)
        return targetError('mcp_target_failed', this.name, 'does not read its messages');
    } else if (this.calling.delayedSize >= maxWaiting)
      return targetError('mcp_target_failed', this.name, 'is restarting and has too many calls waiting');
    return undefined;
  }

  /** Can the child get a call with these values now? Calls of other callers that wait for another child go first. */
  private canTake(environment: ChildEnvironment | undefined): boolean {
    return (
      this.state === 'ready' &&
      environment?.digest === this.childDigest &&
      this.calling.firstDelayed === undefined
    );
  }

  dropAbandoned(): boolean {
    const wireId = this.calling.dropAbandoned();
    if (wireId === undefined) return false;
    this.clocks.settled(wireId);
    this.cancel(wireId, 'client left');
    return true;
  }

  /** Tells the target that nobody waits for a call any more. */
  private cancel(wireId: number, reason: string): void {
    const params = `{"requestId":${wireId},"reason":"${reason}"}`;
    this.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":${params}}`);
  }

  private tooLate(wireId: number, limit: CallLimit): void {
    const waiter = this.calling.find(wireId);
    // The call ended together with all others.
    if (waiter === undefined) return;
    // A call that waits for a restart is not known to the server.
    if (this.calling.get(wireId) !== undefined) this.cancel(wireId, 'timeout');
    this.calling.forget(wireId);
    this.replaceLater();
    this.lateCalls.warn({ ms: limit.ms });
    waiter.failed(lateError(this.name, limit));
  }

  progressed(wireId: number): void {
    this.clocks.progress(wireId);
  }

  hold(waits: boolean): void {
    this.clocks.hold(waits);
  }

  /** Another child gets other values: once the calls in progress have ended, for they began with the former ones. */
  inject(environment: ChildEnvironment): void {
    if (environment.digest === this.environment?.digest) return;
    this.environment = environment;
    this.replaceChild();
  }

  /** The values of the next child: those of the call that has waited the longest, or else of the newest caller. */
  private get nextEnvironment(): ChildEnvironment | undefined {
    const { firstDelayed } = this.calling;
    return firstDelayed === undefined ? this.environment : firstDelayed.environment;
  }

  /** The next call needs a child with other values. */
  private get isStale(): boolean {
    return this.state === 'ready' && this.nextEnvironment?.digest !== this.childDigest;
  }

  private replaceChild(): void {
    if (!this.isStale || this.calling.isBusy) return;
    const { log, listener, onReplaced } = this.options;
    onReplaced(this.name);
    if (this.target.resume === false) {
      log.info('Session ended: a value of its caller has changed, and its target has resume: false');
      listener.onTaken(this);
      return;
    }
    const child = this.child!;
    log.info('Child replaced: a value of its caller has changed', { pid: child.pid });
    this.child = undefined;
    this.state = 'restarting';
    // Calls without an end of their own begin again with the next child.
    this.calling.fail(targetError('mcp_target_failed', this.name, 'was replaced'));
    listener.onDown(this);
    child.stop(stopGraceMs);
    // The next one starts when nothing of this one is left: they may share files or ports.
    void child.gone.then(() => {
      if (this.state === 'restarting') this.restart();
    });
  }

  /** Starts a server that was given up, where it is time to and there is room. */
  retry(): void {
    if (this.state !== 'failed' || !this.backoff.mayTry) return;
    this.state = 'restarting';
    this.withSlot(
      () => this.restart(),
      (error) => {
        this.state = 'failed';
        this.calling.failAll(error);
      },
    );
  }

  send(text: string, method?: string): void {
    if (method === 'notifications/initialized') this.replay.confirm(text);
    if (this.state === 'ready' && this.child!.backlog <= maxBacklog) this.writeNow(text);
  }

  pending(wireId: RpcId): Waiter | undefined {
    return this.calling.get(wireId);
  }

  calls(): Iterable<[number, Waiter]> {
    return this.calling.all();
  }

  forget(wireId: number): void {
    this.clocks.settled(wireId);
    this.calling.forget(wireId);
    this.replaceLater();
  }

  private replaceLater(): void {
    if (this.isStale) setImmediate(() => this.replaceChild());
    // The call that waited for another child was given up.
    else if (this.state === 'ready' && this.calling.firstDelayed !== undefined) this.release();
  }

  /** Sends the calls that the child has the values for; the others wait for the next child. */
  private release(): void {
    const fits = ({ environment }: Delayed): boolean => environment?.digest === this.childDigest;
    for (const { line } of this.calling.release(fits)) this.writeNow(line);
  }

  pause(): void {
    this.paused = true;
    this.child?.pause();
  }

  resume(): void {
    this.paused = false;
    this.child?.resume();
  }

  /** A client that listens for news of the server wants it to run. */
  setClientListening(wanted: boolean): void {
    if (wanted && this.state === 'suspended') this.wake();
  }

  close(graceMs: number): Promise<void> {
    this.state = 'closed';
    clearTimeout(this.timer);
    this.claim?.cancel();
    const error = targetError('mcp_target_failed', this.name, 'has been stopped');
    const { unopened } = this;
    this.unopened = undefined;
    unopened?.failed(error);
    this.clocks.clear();
    this.calling.failAll(error);
    this.child?.stop(graceMs);
    this.freeSlot();
    return this.leaving;
  }

  // SlotUser

  get holder(): string {
    return this.options.activity.holder;
  }

  get unused(): boolean {
    return this.options.activity.unused;
  }

  get lastUsedAt(): number {
    return this.options.activity.lastUsedAt;
  }

  get idle(): boolean {
    return this.state === 'ready' && this.options.activity.idle;
  }

  giveUp(limit: string): void {
    const { log, listener, onEvicted: onTaken } = this.options;
    onTaken(this.name);
    if (this.target.resume === false) {
      log.info('Idle session ended to make room: its target has resume: false', { limit });
      listener.onTaken(this);
      return;
    }
    log.info('Child of an idle session stopped to make room; it starts again when the session comes back', {
      limit,
      pid: this.child?.pid,
    });
    this.suspend();
  }

  park(): boolean {
    if (this.target.resume === false) return false;
    if (this.state === 'ready') {
      this.options.log.info('Child of an idle session stopped; it starts again when the session comes back', {
        pid: this.child?.pid,
      });
      this.suspend();
    }
    return true;
  }

  private suspend(): void {
    const child = this.child!;
    this.child = undefined;
    this.state = 'suspended';
    clearTimeout(this.timer);
    this.calling.failAll(targetError('mcp_target_failed', this.name, 'was stopped to make room'));
    this.options.listener.onDown(this);
    child.stop(stopGraceMs);
    this.freeSlot();
  }

  /** The session came back after its child was taken. */
  private wake(): void {
    this.state = 'restarting';
    this.options.log.info(
      'Session came back: its child starts again, without what the former one kept in memory',
    );
    // The next child starts when nothing of the former one is left: they may share files or ports.
    void this.leaving.then(() => {
      if (this.state === 'restarting') this.withSlot(() => this.restart(), this.noRoom);
    });
  }

  /** There is no room for a child: what waits for it fails, and the next call asks again. */
  private readonly noRoom = (error: GatewayError): void => {
    this.state = 'suspended';
    this.calling.failAll(error);
  };

  /** Runs `then` once the connection may have a child. @param refused there is no room */
  private withSlot(then: () => void, refused: (error: GatewayError) => void): void {
    if (this.slot !== undefined) {
      then();
      return;
    }
    try {
      this.claim = this.options.children.slots.claim(this, (slot) => {
        this.claim = undefined;
        this.slot = slot;
        then();
      });
    } catch (error) {
      refused(asGatewayError(error));
    }
  }

  /** The slot is free when nothing of the last child is left. */
  private freeSlot(): void {
    const { slot } = this;
    this.slot = undefined;
    if (slot === undefined) return;
    slot.leaving = true;
    void this.leaving.then(() => slot.release());
  }

  private get state(): TargetState {
    return this.clock.state;
  }

  private set state(next: TargetState) {
    this.clock.state = next;
  }

  view(): TargetView {
    return {
      name: this.name,
      state: this.state,
      since: this.clock.since,
      pid: this.child?.pid,
      restarts: this.restarts,
      pending: this.calling.size,
      lastError: this.lastError,
      stderr: this.stderr.lines,
    };
  }

  /** Starts a child; answers why it could not be. */
  private begin(): GatewayError | undefined {
    const { children } = this.options;
    let child: Child | undefined;
    const environment = this.nextEnvironment;
    const values = environment?.values;
    const remover = new ValueRemover(values ?? {});
    this.childDigest = environment?.digest;
    const events: ChildEvents = {
      onLine: (text) => {
        if (child === this.child) this.reader.take(text);
      },
      onLarge: (head) => (child === this.child ? this.reader.takeLarge(head) : undefined),
      onTooLong: (head, tail, bytes) => {
        if (child === this.child) this.onTooLong(head, tail, bytes);
      },
      onStderr: (line) => this.stderr.line(remover.line(line)),
      onLongStderr: (head, bytes) => this.stderr.line(`${remover.head(head)}… (${bytes} bytes)`),
      onDown: (reason, detail) => {
        if (child === this.child) this.onDown(reason, detail);
      },
    };
    try {
      child = children.start(this.target, events, values);
    } catch (error) {
      const detail = messageOf(error);
      return this.broke('mcp_target_failed', 'could not be started', undefined, detail);
    }
    this.child = child;
    this.leaving = child.gone;
    if (this.paused) child.pause();
    this.options.log.debug('Target started', { pid: child.pid });
    return undefined;
  }

  // MessageReceiver

  onMessage(message: Envelope): void {
    this.options.listener.onMessage(this, message);
  }

  settled(wireId: number): void {
    this.clocks.settled(wireId);
    this.replaceLater();
  }

  failed(wireId: number, error: GatewayError): void {
    this.clocks.settled(wireId);
    this.calling.take(wireId)?.failed(error);
    this.replaceLater();
  }

  private onTooLong(head: string, tail: string, bytes: number): void {
    this.options.log.warn('Line of the target skipped: longer than limits.maxMcpMessageBytes', { bytes });
    // With a single call in flight, the line can hardly be about anything else.
    const wireId = idOfLongLine(head, tail) ?? this.calling.sole;
    if (wireId === undefined) return;
    this.failed(
      wireId,
      targetError('mcp_message_too_large', this.name, 'answered with a message that is too large'),
    );
  }

  /** A child failed: logs it, and makes the error that leads to the log entry. */
  private broke(
    code: 'mcp_target_failed' | 'mcp_target_timeout',
    reason: string,
    pid: number | undefined,
    detail?: string,
  ): GatewayError {
    const starting = this.state === 'starting' || this.state === 'restarting';
    const stderr = this.stderr.last();
    const { entry, clientMessage, hint } = failureOf(this.target, reason, {
      starting,
      now: this.options.now(),
      stderr,
    });
    this.lastFailureMessage = clientMessage;
    if (this.state === 'restarting') this.options.onRestartFailed(this.name);
    this.options.log.warn(`Target ${reason}`, { failure: entry, pid, detail, hint, stderr });
    return targetError(code, this.name, clientMessage, detail);
  }

  private onDown(reason: string, detail?: string): void {
    const child = this.child!;
    this.child = undefined;
    this.lastError = reason;
    if (this.state === 'closed') return;
    const first = this.state === 'starting';
    clearTimeout(this.timer);
    const error = this.broke('mcp_target_failed', reason, child.pid, detail);
    if (!first) this.state = 'restarting';
    this.calling.fail(error);
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
        targetError('mcp_target_failed', this.name, `keeps failing: it ${this.lastFailureMessage}`),
      );
    if (delay === undefined) {
      this.state = 'failed';
      this.freeSlot();
      this.options.log.error('Target failed repeatedly; no restart until the next call', {
        reason: this.lastError,
      });
      return;
    }
    this.timer = setTimeout(() => this.restart(), delay).unref();
  }

  /** Starts the server again and tells it what the former one knew. */
  private restart(): void {
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
    this.options.listener.onAgain?.(this);
    const wireId = this.calling.nextId();
    this.calling.add(wireId, {
      answered: (response) => {
        clearTimeout(this.timer);
        if (!response.isError) this.restarted();
        else {
          this.restartFailed('refused to initialize again');
          this.options.listener.onRefused?.(this, { response });
        }
      },
      // The child died (onDown goes on from there), the session closes, or the answer is no response.
      failed: () => this.restartFailed('failed to initialize again'),
    });
    this.armStart(() =>
      this.restartFailed(`did not answer ${this.replay.method} within ${this.target.startTimeoutMs} ms`),
    );
    this.writeNow(this.replay.beginning(wireId));
  }

  private restartFailed(reason: string): void {
    const child = this.child;
    if (child === undefined || this.state !== 'restarting') return;
    this.child = undefined;
    this.lastError = reason;
    this.calling.fail(this.broke('mcp_target_failed', reason, child.pid));
    child.stop(0);
    void child.gone.then(() => this.afterFailure());
  }

  private restarted(): void {
    this.options.log.info('Target restarted', { pid: this.child?.pid, restarts: this.restarts });
    if (this.replay.initialized !== undefined) this.writeNow(this.replay.initialized);
    this.say(this.replay.requests(() => this.calling.nextId(), this.options.listener.canSeeResource(this)));
    this.ready();
    this.options.listener.onUp?.(this);
  }

  private say(requests: Iterable<WireRequest>): void {
    for (const [wireId, text] of requests) {
      this.calling.add(wireId, ignored);
      this.clocks.start(wireId, { ms: this.options.limits().mcpCallTimeoutMs });
      this.writeNow(text);
    }
  }

  get awaitsCaller(): boolean {
    return this.state === 'ready' && this.replay.waits;
  }

  attended(canSeeResource: CanSeeResource): void {
    this.say(this.replay.requestsThatWaited(() => this.calling.nextId(), canSeeResource));
  }

  private ready(): void {
    this.state = 'ready';
    this.release();
    // Other values came while the child started.
    this.replaceChild();
  }

  private startTimedOut(): GatewayError {
    const reason = `did not answer ${this.replay.method} within ${this.target.startTimeoutMs} ms`;
    return this.broke('mcp_target_timeout', reason, this.child?.pid);
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
