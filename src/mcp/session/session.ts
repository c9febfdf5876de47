import { GatewayError } from '../../errors.ts';
import { randomInt } from 'node:crypto';
import type { McpBackend } from '../../model/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import type { Caller, CallerWays } from '../contract.ts';
import { ItemRules } from '../items/itemRules.ts';
import type { Naming } from '../items/naming.ts';
import { memberOf, type Envelope, type RpcId } from '../json/envelope.ts';
import type { Evictable, Tally } from '../limits/budget.ts';
import type { RetainedMemory } from '../limits/retainedMemory.ts';
import { withoutRevision } from '../messages/eraEdits.ts';
import type { Era } from '../messages/eras.ts';
import { announcedLists, changedText, listed } from '../messages/listNews.ts';
import type { Outgoing, OwnWay } from '../messages/outgoing.ts';
import type {
  CanSeeResource,
  MessageOrigin,
  TargetConnection,
  TargetListener,
  TargetView,
} from '../targets/kind/target.ts';
import { changingLists, listChangedText } from './announcedLists.ts';
import type { Call } from './call.ts';
import type { CallAnswer } from './callAnswer.ts';
import { cancelCalls, notify, respond } from './clientMessages.ts';
import { ClientStreams } from './clientStreams.ts';
import { ModernStreams } from './modernStreams.ts';
import { ServerMessages, type MessageContext } from './serverMessages.ts';
import type { SessionFederation } from './sessionFederation.ts';
import { SessionTargets } from './sessionTargets.ts';
import type { TaskRegistry } from './taskRegistry.ts';

/** The program of a client, as it calls itself. */
export interface ClientProgram {
  readonly name: string;
  readonly version: string;
}

export interface SessionView {
  /** Names it in logs. */
  readonly label: string;
  readonly backend: string;
  readonly principal: string | undefined;
  readonly protocolVersion: string | undefined;
  /** The program of the client, as it calls itself. */
  readonly client: ClientProgram | undefined;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  /** Another process began it. */
  readonly resumed: boolean;
  readonly lastUsedAt: number;
  /** True while a client reads a stream or waits for a response. */
  readonly attached: boolean;
  /** GET streams that are open. */
  readonly streams: number;
  /** Messages that wait for a stream. */
  readonly held: number;
  /** True while the client reads too slowly and the targets are held back. */
  readonly pressed: boolean;
  readonly targets: readonly TargetView[];
}

export interface SessionStart {
  readonly id: string;
  /** Names it in logs. */
  readonly label: string;
  readonly backendKey: string;
  readonly principal: string | undefined;
  /** The era of the client; absent: legacy. */
  readonly era?: Era;
  /** The tasks of the process. */
  readonly tasks: TaskRegistry;
  /** Counts the session for its principal. */
  readonly tally: Tally;
  /** Counts what the session keeps in memory for its client. */
  readonly keep: RetainedMemory;
  /**
   * The time that the session keeps its child without stream and call, however full a budget is, in milliseconds.
   */
  readonly graceMs: () => number;
  readonly log: Logger;
  readonly now: () => number;
  /** May other processes open its id, now or later? */
  readonly mayOutlive: () => boolean;
  /** When it began, in milliseconds since the epoch, where another process began it. */
  readonly resumedFrom?: number;
  /** Its servers begin anew at each process. */
  readonly revivable?: boolean;
  /** Runs once, when the session is over. */
  readonly onEnd: (session: Session) => void;
  /** Runs once, before that, where the server does not know it any more. */
  readonly onGone: (session: Session) => void;
}

/** A request of the client that no target has at the moment. */
interface UnsentRequest {
  readonly id: RpcId;
  /** Its client has left: it gives its place to other calls. */
  readonly givesWay?: boolean;
  cancel(): void;
}

/** Keeps ids that another process counted apart from those of a resumed session. */
const resumedIdOffset = 1_000_000;
const maxIdOffset = 900_000_000;
/** The time for the servers of a session to leave that its client did not end here, in milliseconds. */
export const endGraceMs = 3_000;

/**
 * A client and its servers. Requests of the client go to a target under an id of the gateway's own and come back
 * under the client's; what servers say by themselves finds its way to the one stream it belongs on.
 */
export class Session implements TargetListener, Evictable, MessageContext {
  id: string;
  readonly label: string;
  readonly backendKey: string;
  readonly principal: string | undefined;
  /** Another process began it. */
  readonly resumed: boolean;
  readonly log: Logger;
  readonly targets: SessionTargets;
  /** The first exchange of a session with one target, for targets that join later. */
  opening: { readonly request: Envelope; readonly response: Envelope } | undefined;
  /** The program of the client, as it calls itself; undefined where it has not said so. */
  client: ClientProgram | undefined;
  /** Set where the session has several targets, or had them once. */
  federation: SessionFederation | undefined;
  /** Requests of the client that no target has at the moment: they wait for a policy or a list. */
  readonly unsent = new Set<UnsentRequest>();
  private followed: McpBackend | undefined;
  /** A target has asked in vain who may know of a resource, so its subscriptions may wait for a caller. */
  private hasUnjudged = false;
  /** Targets for which the caller of the newest request has no credential. */
  private unreachable: Map<TargetConnection, GatewayError> | undefined;
  /** Streams to the client, and what waits for one. */
  readonly streams: ClientStreams;
  /** As the server answered initialize; undefined before. */
  protocolVersion: string | undefined;
  lastUsedAt: number;
  /** Set until a message follows `initialize`. */
  unused = true;
  ended = false;
  /** The client can answer requests of servers. */
  takesRequests = true;
  /** The era of the client. */
  readonly era: Era;
  /** Its id says what it takes to go on with it. */
  carried: boolean;
  private revivable: boolean;
  private readonly mayOutlive: () => boolean;
  private readonly onGoneHere: (session: Session) => void;
  private readonly servers: ServerMessages;
  /** The view of the newest request; an open stream may have begun under another one. */
  itemView: Naming['view'];
  /** Every target knows this way to it. */
  private reached: Caller['reach'];
  /** Rules about items held for the newest request. */
  private ruled = false;
  /** The features with lists that the client was told of; undefined where another process told it. */
  announces: ReadonlySet<string> | undefined;
  /** The names and the rules of the newest request; undefined before the first one. */
  private shaped: { readonly naming: Naming; readonly itemRules: string | undefined } | undefined;
  /** Milliseconds since the epoch, wherever that was. */
  readonly createdAt: number;
  private readonly now: () => number;
  private readonly onEnd: (session: Session) => void;
  private readonly tally: Tally;
  private readonly graceMs: () => number;
  readonly keep: RetainedMemory;

  constructor(start: SessionStart) {
    this.id = start.id;
    this.label = start.label;
    this.resumed = start.resumedFrom !== undefined;
    this.revivable = start.revivable === true;
    this.carried = this.resumed && !this.revivable;
    this.mayOutlive = start.mayOutlive;
    this.onGoneHere = start.onGone;
    const before = this.resumed ? randomInt(resumedIdOffset, maxIdOffset) : 0;
    this.servers = new ServerMessages(this, before);
    this.backendKey = start.backendKey;
    this.principal = start.principal;
    this.targets = new SessionTargets(this, start.tasks);
    this.log = start.log.child({ backend: start.backendKey, session: this.label });
    this.now = start.now;
    this.onEnd = start.onEnd;
    this.tally = start.tally;
    this.graceMs = start.graceMs;
    this.keep = start.keep;
    this.lastUsedAt = start.now();
    this.createdAt = start.resumedFrom ?? this.lastUsedAt;
    this.era = start.era ?? 'legacy';
    const Streams = this.era === 'modern' ? ModernStreams : ClientStreams;
    this.streams = new Streams(
      {
        pressed: () => [...this.targets.values()].forEach((target) => target.pause()),
        eased: () => [...this.targets.values()].forEach((target) => target.resume()),
      },
      (askedId) => this.refuse(askedId, 'the client has no stream open'),
      this.log,
      this.keep,
      before,
    );
  }

  /** The client knows it by this id, by which others can go on with it. */
  makeResumable(id: string): void {
    this.id = id;
    this.carried = true;
  }

  /** The client knows it by this id, by which others can go on with servers of their own. */
  makeRevivable(id: string): void {
    this.id = id;
    this.revivable = true;
  }

  /** Other processes can go on with the session. */
  get continuable(): boolean {
    return this.shared || this.revivable;
  }

  /** Records the agreed revision. */
  agree(version: string | undefined): void {
    this.protocolVersion = version;
    this.streams.knowsPrimes = version === '2025-11-25';
  }

  /** Other processes may hold it as well. */
  get shared(): boolean {
    return this.carried && (this.resumed || this.mayOutlive());
  }

  /** A server that belongs to the session no more. The caller closes its connection. */
  part(connection: TargetConnection): void {
    this.onDown(connection);
    this.targets.remove(connection);
  }

  /**
   * Takes note of what the configuration calls the servers of the session now.
   * @returns false where it names one of them no more
   */
  follow(settings: McpBackend): boolean {
    if (settings === this.followed) return true;
    if (this.federation !== undefined) this.federation.follow(settings);
    else if (!this.targets.follow(settings)) return false;
    this.followed = settings;
    return true;
  }

  /** A stream for what servers say by themselves was opened or has ended. */
  listened(): void {
    for (const target of this.targets.values()) target.setClientListening?.(this.streams.open > 0);
  }

  /** Resolves (never rejects) when the servers have taken note of what they must know first; undefined where they have. */
  get settling(): Promise<unknown> | undefined {
    const all = [...this.targets.values()].flatMap(({ settling }) => settling ?? []);
    return all.length === 0 ? undefined : Promise.all(all);
  }

  /** A client of the modern era hears only while it listens, and nobody hears of news in a session of one request. */
  get hearsOfLists(): boolean {
    return this.takesRequests && (this.federation !== undefined || this.era === 'legacy');
  }

  touch(): void {
    this.lastUsedAt = this.now();
  }

  /** The holder whose budgets the session uses. */
  get holder(): string {
    return this.tally.holder;
  }

  /** The session has had neither stream nor call for the grace: it may lose its child, or its place. */
  get idle(): boolean {
    return !this.attached && this.now() - this.lastUsedAt >= this.graceMs();
  }

  /** A request of the session is being served: notes how targets are reached for its caller, and what the caller may know. */
  attachCaller(caller: Caller, naming: Naming): void {
    const { reach, reachesAlike, environment } = caller;
    const { view } = naming;
    const itemRules = ItemRules.of(caller, view);
    this.itemView = view;
    this.ruled = itemRules !== undefined;
    const isReached = reach === undefined || reach === this.reached;
    // Another function would keep its whole request alive.
    this.reached = reachesAlike === true ? reach : undefined;
    // Most requests change nothing. A look at ten connections then costs more than the rest of this method.
    if (!isReached || environment !== undefined || this.hasUnjudged)
      for (const target of this.targets.values()) {
        if (!isReached && target.use !== undefined) this.reachFor(target, reach);
        if (environment !== undefined && target.inject !== undefined) this.injectFor(target, environment);
        if (target.awaitsCaller === true) target.attended?.(this.knownTo(itemRules, target));
      }
    this.federation?.attachCaller(caller);
    if (this.shaped?.naming !== naming || this.shaped.itemRules !== caller.itemRules)
      this.reshape(naming, caller.itemRules);
  }

  /** The client lists again what other rules, or other names, show it. A federation tells of other names by itself. */
  private reshape(naming: Naming, itemRules: string | undefined): void {
    const before = this.shaped;
    this.shaped = { naming, itemRules };
    if (before === undefined) return;
    const isRenamed = (): boolean =>
      this.federation === undefined &&
      [...this.targets.values()].some(
        (target) => !naming.showsAlike(before.naming, this.targets.nameOf(target)),
      );
    if (before.itemRules === itemRules && !isRenamed()) return;
    for (const list of changingLists)
      if (this.hearsOf(list)) this.streams.deliver(listChangedText(list), 'other');
  }

  /** Was the client told that there is such a list? */
  hearsOf(list: string): boolean {
    return this.announces?.has(list) ?? true;
  }

  /** A target without a credential for the caller fails the caller's calls; the others serve them. */
  private reachFor(target: TargetConnection, reach: NonNullable<Caller['reach']>): void {
    this.preparing(target, () => {
      const found = reach(this.targets.nameOf(target));
      if (found !== undefined) target.use?.(found);
    });
  }

  /** The same for a child process: the caller's values may have changed. */
  private injectFor(target: TargetConnection, environment: NonNullable<Caller['environment']>): void {
    this.preparing(target, () => {
      const found = environment(this.targets.nameOf(target));
      if (found !== undefined) target.inject?.(found);
    });
  }

  private preparing(target: TargetConnection, prepare: () => void): void {
    try {
      prepare();
      this.unreachable?.delete(target);
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      (this.unreachable ??= new Map()).set(target, error);
    }
  }

  private knownTo(itemRules: ItemRules | undefined, target: TargetConnection): CanSeeResource {
    return (name) =>
      itemRules === undefined ||
      itemRules.allows({ kind: 'resource', target: this.targets.nameOf(target), name });
  }

  canSeeResource(target: TargetConnection): CanSeeResource | undefined {
    const { reader } = this.streams;
    if (reader === undefined && this.ruled) {
      this.hasUnjudged = true;
      return undefined;
    }
    return this.knownTo(reader?.itemRules, target);
  }

  /**
   * A request of the client, for one target.
   * @param ways of its caller, where they are not alike for all callers
   */
  send(target: TargetConnection, out: Outgoing, call: Call, ways?: CallerWays): void {
    this.streams.expect(call.answer);
    let way: OwnWay;
    try {
      way = this.wayTo(target, ways);
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      call.failed(error);
      return;
    }
    const isBridged = this.era === 'modern' && target.era !== 'modern';
    const wireId = target.call({ ...(isBridged ? withoutRevision(out) : out), ...way }, call);
    if (
      wireId !== 0 &&
      call.tokenText !== undefined &&
      memberOf(out.envelope.text, out.envelope.body, 'task')
    )
      this.servers.rememberTask(target, wireId, call.tokenText);
  }

  /**
   * The way of a request, which may have waited for a policy: the newest caller may be another one by now.
   * @param ways of its caller, where they are not alike for all callers
   * @throws GatewayError where its caller has no credential for the target
   */
  wayTo(target: TargetConnection, ways: CallerWays | undefined): OwnWay {
    if (ways !== undefined) {
      const name = this.targets.nameOf(target);
      return {
        reach: target.use && ways.reach?.(name),
        environment: target.inject && ways.environment?.(name),
      };
    }
    const refusal = this.unreachable?.get(target);
    if (refusal !== undefined) throw refusal;
    return {};
  }

  /** Gives up every call whose client has left. */
  dropAbandoned(): void {
    for (const request of [...this.unsent]) if (request.givesWay === true) request.cancel();
    this.federation?.dropAbandoned();
    for (const target of this.targets.values()) while (target.dropAbandoned());
  }

  /** A notification of the client. */
  notify(message: Envelope, itemRules: ItemRules | undefined): void {
    notify(this, message, itemRules);
  }

  /** The client's answer to a request of a server. */
  respond(message: Envelope, itemRules: ItemRules | undefined): void {
    respond(this, this.servers, message, itemRules);
  }

  /** Gives up the calls of an answer that nobody waits for any more, and tells their servers. */
  cancelCalls(answer: CallAnswer, reason: string): void {
    cancelCalls(this, answer, reason);
  }

  /** Answers a server in the place of a client that cannot be reached. */
  refuse(askedId: RpcId, why: string): void {
    this.servers.refuse(askedId, why);
  }

  onMessage(target: TargetConnection, said: Envelope, origin: MessageOrigin): void {
    this.servers.onMessage(target, said, origin);
  }

  onDown(target: TargetConnection): void {
    // The next session with the server is another one than the id tells of.
    this.carried = false;
    this.servers.onDown(target);
    this.federation?.onDown(target);
  }

  onUp(target: TargetConnection): void {
    if (this.federation !== undefined) {
      this.federation.onUp(target);
      return;
    }
    for (const list of this.announced) this.streams.deliver(changedText(list), 'other');
  }

  /** The lists of the one server that the client may be told of; a stream of a modern client chooses by itself. */
  private get announced(): readonly string[] {
    if (!this.takesRequests) return [];
    if (this.era === 'modern') return listed;
    return this.opening === undefined ? [] : announcedLists(this.opening.response);
  }

  onGone(target: TargetConnection): void {
    if (this.federation !== undefined) {
      this.federation.onGone(target);
      return;
    }
    this.log.info('Session ended: the server does not continue it');
    this.onGoneHere(this);
    void this.end(0);
  }

  /** The child had a memory that another one would lack: the session ends, whatever other targets it has. */
  onTaken(): void {
    void this.end(0);
  }

  /** Does a client wait for something right now? */
  get attached(): boolean {
    return this.streams.attached;
  }

  /** Every few seconds. */
  tick(now: number): void {
    for (const target of this.targets.values()) target.tick?.(now);
    this.federation?.tick();
    this.streams.tick(now);
  }

  /** Stops the children of the session; false where it has none, or cannot go on without one. */
  park(): boolean {
    const parked = [...this.targets.values()].flatMap((target) => target.park?.() ?? []);
    return parked.length > 0 && parked.every(Boolean);
  }

  /** Ends the session and everything it holds; resolves (never rejects) when its targets are gone. */
  async end(graceMs: number): Promise<void> {
    this.over();
    const closing = [...this.targets.values()].map((target) => target.close(graceMs));
    this.streams.close();
    await Promise.all(closing);
  }

  /**
   * Ends what is here of it: others may go on with a shared session. No other process has the servers of any other session,
   * so they end, too.
   * @returns what ends it at its servers (never rejects)
   */
  leave(): () => Promise<unknown> {
    if (!this.shared) {
      const ended = this.end(endGraceMs);
      return () => ended;
    }
    this.over();
    const left = [...this.targets.values()].map((target) => target.leave?.() ?? (() => target.close(0)));
    this.streams.close();
    return () => Promise.all(left.map((end) => end()));
  }

  private over(): void {
    if (this.ended) return;
    this.ended = true;
    this.tally.leave();
    this.keep.close();
    this.federation?.close();
    this.onEnd(this);
  }

  view(): SessionView {
    return {
      label: this.label,
      backend: this.backendKey,
      principal: this.principal,
      protocolVersion: this.protocolVersion,
      client: this.client,
      createdAt: this.createdAt,
      resumed: this.resumed,
      lastUsedAt: this.lastUsedAt,
      attached: this.attached,
      streams: this.streams.open,
      held: this.streams.held,
      pressed: this.streams.pressedNow,
      targets: this.targetViews(),
    };
  }

  targetViews(): readonly TargetView[] {
    return this.federation?.views() ?? [...this.targets.values()].map((target) => target.view());
  }
}
