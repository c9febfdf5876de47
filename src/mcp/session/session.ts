import { randomInt } from 'node:crypto';
import { GatewayError } from '../../errors.ts';
import type { McpBackend, McpTarget } from '../../model/index.ts';
import { isOverNetwork } from '../targets/facts.ts';
import type { Logger } from '../../telemetry/index.ts';
import type { CallAnswer } from './callAnswer.ts';
import { Call } from './call.ts';
import type { Caller } from '../contract.ts';
import { ClientStreams } from './clientStreams.ts';
import { ModernStreams } from './modernStreams.ts';
import type { Evictable, Tally } from '../limits/budget.ts';
import type { RetainedMemory } from '../limits/retainedMemory.ts';
import { ItemRules } from '../items/itemRules.ts';
import type { Naming } from '../items/naming.ts';
import {
  cut,
  edited,
  maxIdLength,
  memberOf,
  stringValue,
  type Envelope,
  type RpcId,
} from '../json/envelope.ts';
import { splice, type Edit } from '../json/scan.ts';
import { uriEdits } from '../items/resourceUris.ts';
import type { SessionFederation } from './sessionFederation.ts';
import { serverNotifications } from '../messages/mcpMethods.ts';
import type { ItemNameSource } from '../items/itemVisibility.ts';
import { serverOf, targetNow } from '../targets/sameServer.ts';
import type { Era } from '../messages/eras.ts';
import { errorResponse } from '../messages/rpcError.ts';
import { readServerId, ServerRequests, idWithServerId, type ServerRequest } from './serverRequests.ts';
import type { Outgoing } from '../messages/outgoing.ts';
import type { KnownTask, TaskRegistry } from './taskRegistry.ts';
import { TaskIds, type TaskReader } from './taskIds.ts';
import type {
  CanSeeResource,
  MessageOrigin,
  TargetConnection,
  TargetListener,
  TargetView,
} from '../targets/kind/target.ts';

export interface SessionView {
  /** Hash of the id. */
  readonly label: string;
  readonly backend: string;
  readonly principal: string | undefined;
  readonly protocolVersion: string | undefined;
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
  /** Runs once, when the session is over. */
  readonly onEnd: (session: Session) => void;
  /** Runs once, before that, where the server does not know it any more. */
  readonly onGone: (session: Session) => void;
}

/** Keeps ids that another process counted apart from those of a resumed session. */
const resumedIdOffset = 1_000_000;
const maxIdOffset = 900_000_000;

/** Progress of a task outlives the call that made it; so many tokens are remembered for it. */
const maxTaskTokens = 256;

/**
 * A client and its servers. Requests of the client go to a target under an id of the gateway's own and come back
 * under the client's; what servers say by themselves finds its way to the one stream it belongs on.
 */
export class Session implements TargetListener, Evictable {
  id: string;
  readonly label: string;
  readonly backendKey: string;
  readonly principal: string | undefined;
  /** Another process began it. */
  readonly resumed: boolean;
  readonly log: Logger;
  readonly targets = new Map<string, TargetConnection>();
  /** The first exchange of a session with one target, for targets that join later. */
  opening: { readonly request: Envelope; readonly response: Envelope } | undefined;
  /** Set where the session has several targets, or had them once. */
  federation: SessionFederation | undefined;
  /** Names of tasks in the messages of the session, by the connections of their targets. */
  private readonly taskIds = new Map<string, TaskIds>();
  private readonly tasks: TaskRegistry;
  /** The targets in the configuration of the newest request, by the names of their connections. */
  private readonly configured = new Map<string, McpTarget>();
  /** Made of `configured`, for each message anew otherwise. */
  private readonly readers = new Map<string, TaskReader>();
  private followed: McpBackend | undefined;
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
  private carried: boolean;
  private readonly mayOutlive: () => boolean;
  private readonly onGoneHere: (session: Session) => void;
  private readonly asked: ServerRequests;
  /** By the connection and the id of the call there. */
  private readonly taskTokens = new Map<string, string>();
  /** The view of the newest request; an open stream may have begun under another one. */
  private itemView: Naming['view'];
  /** Rules about items held for the newest request. */
  private ruled = false;
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
    this.carried = this.resumed;
    this.mayOutlive = start.mayOutlive;
    this.onGoneHere = start.onGone;
    const before = this.resumed ? randomInt(resumedIdOffset, maxIdOffset) : 0;
    this.asked = new ServerRequests(before);
    this.backendKey = start.backendKey;
    this.principal = start.principal;
    this.tasks = start.tasks;
    this.log = start.log.child({ session: this.label });
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
        pressed: () => this.targets.forEach((target) => target.pause()),
        eased: () => this.targets.forEach((target) => target.resume()),
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

  /** Records the agreed revision. */
  agree(version: string | undefined): void {
    this.protocolVersion = version;
    this.streams.knowsPrimes = version === '2025-11-25';
  }

  /** Other processes may hold it as well. */
  get shared(): boolean {
    return this.carried && (this.resumed || this.mayOutlive());
  }

  /** A server of the session, from its beginning on. */
  join(target: McpTarget, connection: TargetConnection): void {
    this.targets.set(connection.name, connection);
    this.configured.set(connection.name, target);
    this.readers.delete(connection.name);
  }

  /** A server that belongs to the session no more. The caller closes its connection. */
  part(connection: TargetConnection): void {
    this.onDown(connection);
    this.taskIds.delete(connection.name);
    this.targets.delete(connection.name);
    this.configured.delete(connection.name);
    this.readers.delete(connection.name);
  }

  /** Names of tasks in the messages of one target. */
  tasksOf({ name }: Pick<TargetConnection, 'name'>): TaskIds {
    let ids = this.taskIds.get(name);
    if (ids === undefined) this.taskIds.set(name, (ids = new TaskIds(this.tasks)));
    return ids;
  }

  /**
   * Takes note of what the configuration calls the servers of the session now.
   * @returns false where it names one of them no more
   */
  follow(settings: McpBackend): boolean {
    if (settings === this.followed) return true;
    if (this.federation !== undefined) {
      this.federation.follow(settings);
      this.followed = settings;
      return true;
    }
    if (settings.targets.length > 1 || settings.pin !== undefined) return false;
    this.readers.clear();
    for (const [name, opened] of this.configured) {
      const now = targetNow(opened, settings.targets);
      if (now === undefined) return false;
      // A child stays what it was started as.
      this.configured.set(name, isOverNetwork(now) ? now : { ...opened, name: now.name });
    }
    this.followed = settings;
    return true;
  }

  /** The target that the configuration has for the server of a connection; undefined where it names the server no more. */
  targetIn(connection: TargetConnection, { targets }: McpBackend): McpTarget | undefined {
    const opened = this.configured.get(connection.name);
    return opened && targetNow(opened, targets);
  }

  /** The target's name in the configuration of the newest request. */
  nameOf(target: TargetConnection): string {
    return this.configured.get(target.name)?.name ?? target.name;
  }

  /** The reader of tasks that the session may name at a target. */
  readerOf(target: TargetConnection): TaskReader {
    let reader = this.readers.get(target.name);
    if (reader === undefined) this.readers.set(target.name, (reader = this.newReader(target)));
    return reader;
  }

  private newReader(target: TargetConnection): TaskReader {
    const { principal, label } = this;
    const configured = this.configured.get(target.name);
    const remote = configured !== undefined && isOverNetwork(configured) ? serverOf(configured) : undefined;
    // A child serves one target of one session. Two targets may lead to one server, which tells their sessions apart.
    const server =
      remote !== undefined && this.federation === undefined
        ? remote
        : JSON.stringify([remote ?? label, target.name]);
    return { server, principal, session: label, target: this.nameOf(target) };
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
  attachCaller(caller: Caller, { view }: Pick<Naming, 'view'>): void {
    const { reach } = caller;
    const itemRules = ItemRules.of(caller, view);
    this.itemView = view;
    this.ruled = itemRules !== undefined;
    for (const target of this.targets.values()) {
      const found = target.use === undefined ? undefined : reach?.(this.nameOf(target));
      if (found !== undefined) target.use?.(found);
      target.attended?.(this.knownTo(itemRules, target));
    }
    this.federation?.attachCaller(caller);
  }

  private knownTo(itemRules: ItemRules | undefined, target: TargetConnection): CanSeeResource {
    return (name) =>
      itemRules === undefined || itemRules.allows({ kind: 'resource', target: this.nameOf(target), name });
  }

  canSeeResource(target: TargetConnection): CanSeeResource | undefined {
    const { reader } = this.streams;
    if (reader === undefined && this.ruled) return undefined;
    return this.knownTo(reader?.itemRules, target);
  }

  /** A request of the client, for one target. */
  send(target: TargetConnection, out: Outgoing, call: Call): void {
    this.streams.expect(call.answer);
    const wireId = target.call(out, call);
    if (
      wireId !== 0 &&
      call.tokenText !== undefined &&
      memberOf(out.envelope.text, out.envelope.body, 'task')
    )
      this.rememberTask(target, wireId, call.tokenText);
  }

  /** Gives up every call whose client has left. */
  dropAbandoned(): void {
    for (const target of this.targets.values()) while (target.dropAbandoned());
  }

  /** A notification of the client, which every target may need to know but one that is about something of one target. */
  notify(message: Envelope, itemRules: ItemRules | undefined): void {
    const { method } = message;
    if (method === 'notifications/initialized' && this.federation !== undefined) {
      this.federation.initialized(message.text);
      return;
    }
    if (this.federation !== undefined && method === 'notifications/progress') {
      this.progressOfClient(message, itemRules);
      return;
    }
    let known = false;
    for (const target of this.targets.values()) {
      const edits = this.tasksOf(target).fromClient(message, this.readerOf(target), itemRules);
      if (edits === undefined) continue;
      known = true;
      if (method === 'notifications/cancelled') this.cancel(target, message, edits);
      else target.send(splice(message.text, edits), method);
    }
    if (!known) this.log.debug('Notification dropped: the task belongs to another caller');
    if (method === 'notifications/cancelled' && this.federation !== undefined) {
      const id = cancelledId(message);
      if (id !== undefined) this.federation.cancel(id);
    }
  }

  /** Progress with a request of a server: the token tells the server. */
  private progressOfClient(message: Envelope, itemRules: ItemRules | undefined): void {
    const place = memberOf(message.text, message.body, 'progressToken');
    if (place === undefined || place === 'ambiguous') return;
    const token = readServerToken(stringValue(message.text, place));
    const target = token && this.targets.get(token.target);
    if (token === undefined || target === undefined) return;
    const edits = this.tasksOf(target).fromClient(message, this.readerOf(target), itemRules);
    if (edits === undefined) return;
    target.send(splice(message.text, [...edits, { ...place, replacement: token.tokenText }]), message.method);
  }

  /** The client's answer to a request of a server. */
  respond(message: Envelope, itemRules: ItemRules | undefined): void {
    const asked = this.asked.take(message.id!) ?? this.askedElsewhere(message.id!);
    const target = asked === undefined ? undefined : this.targets.get(asked.target);
    if (target !== undefined) this.hold(target);
    if (asked === undefined || target === undefined || target.generation !== asked.generation) {
      this.log.debug('Client response ignored: no request is pending', { id: String(message.id) });
      return;
    }
    this.streams.answered(message.id!);
    const edits = this.tasksOf(target).fromClient(message, this.readerOf(target), itemRules);
    if (edits === undefined) target.send(errorResponse(new GatewayError('mcp_unknown_task'), asked.idText));
    else target.send(splice(message.text, [...edits, { ...message.idSpan, replacement: asked.idText }]));
  }

  /** The request of a server by way of another process, as the id of the answer tells it. */
  private askedElsewhere(id: RpcId): Pick<ServerRequest, 'target' | 'generation' | 'idText'> | undefined {
    const told = this.shared ? readServerId(id) : undefined;
    const [target] = this.targets.keys();
    return told === undefined || target === undefined ? undefined : { target, ...told };
  }

  private cancel(target: TargetConnection, message: Envelope, edits: readonly Edit[]): void {
    const place = memberOf(message.text, message.body, 'requestId');
    const id = cancelledId(message);
    if (id === undefined || typeof place !== 'object') return;
    let found: [number, Call] | undefined;
    // The same id may be in flight twice (two POSTs): the newer one is meant.
    for (const [wireId, waiter] of target.calls())
      if (waiter instanceof Call && waiter.id === id) found = [wireId, waiter];
    if (found === undefined || found[1].method === 'initialize') return;
    const [wireId, call] = found;
    target.send(splice(message.text, [...edits, { ...place, replacement: String(wireId) }]));
    target.forget(wireId);
    call.cancelled(new GatewayError('mcp_cancelled'));
  }

  /** Gives up the calls of an answer that nobody waits for any more, and tells their servers. */
  cancelCalls(answer: CallAnswer, reason: string): void {
    for (const target of this.targets.values())
      for (const [wireId, waiter] of [...target.calls()]) {
        if (!(waiter instanceof Call) || waiter.answer !== answer) continue;
        const params = JSON.stringify({ requestId: wireId, reason });
        const method = 'notifications/cancelled';
        target.send(`{"jsonrpc":"2.0","method":"${method}","params":${params}}`, method);
        target.forget(wireId);
        waiter.cancelled(new GatewayError('mcp_cancelled'));
      }
  }

  onMessage(target: TargetConnection, said: Envelope, origin: MessageOrigin): void {
    const own = origin instanceof Call ? origin.answer : undefined;
    const told = this.tasksOf(target).fromServer(said, this.readerOf(target));
    if (told === undefined) {
      this.log.debug('Message dropped: the task belongs to another caller', { method: said.method });
      const error = new GatewayError('mcp_unknown_task');
      if (said.kind === 'request') target.send(errorResponse(error, cut(said.text, said.idSpan)));
      return;
    }
    const message = edited(said, told.edits);
    if (message.kind === 'request' && !this.takesRequests) {
      const error = new GatewayError('mcp_client_busy', { message: 'the client has no session' });
      target.send(errorResponse(error, cut(message.text, message.idSpan)));
      return;
    }
    if (message.kind === 'request') {
      const { text, idSpan } = this.requestForClient(target, message);
      const { name, generation } = target;
      const asked = { target: name, generation, idText: cut(text, idSpan), id: message.id! };
      const askedId = this.asked.add(asked, { embedsServerId: this.carried, dropsOldest: this.shared });
      this.hold(target);
      if (askedId === undefined) {
        const error = new GatewayError('mcp_client_busy');
        target.send(errorResponse(error, text.slice(idSpan.start, idSpan.end)));
        return;
      }
      const forClient = text.slice(0, idSpan.start) + JSON.stringify(askedId) + text.slice(idSpan.end);
      // A message beside all calls is no part of one of them.
      this.streams.deliver(forClient, origin === 'aside' ? 'other' : 'request', askedId, own);
      return;
    }
    if (message.method === 'notifications/resources/updated') this.updated(target, message, own);
    else if (message.method === 'notifications/progress') this.progress(target, message);
    else if (message.method === 'notifications/cancelled') this.withdrawn(target, message);
    else {
      const log = message.method === 'notifications/message' && origin !== 'aside';
      if (isListChanged(message.method)) this.federation?.onListChanged(target, message.method);
      // Messages that MCP does not know may name an item: they are not for a reader under rules.
      const names = serverNotifications.has(message.method)
        ? this.namesOf(told.task, target)
        : () => undefined;
      this.streams.deliver(message.text, log ? 'log' : 'other', undefined, own, names);
    }
  }

  /** A task is as hidden as the item that made it. */
  private namesOf(task: KnownTask | undefined, target: TargetConnection): ItemNameSource | undefined {
    if (task === undefined) return undefined;
    const { item } = task;
    return () => (item === undefined ? undefined : { ...item, target: this.nameOf(target) });
  }

  /** News of a resource goes where the reader may know of the resource. */
  private updated(target: TargetConnection, message: Envelope, own: CallAnswer | undefined): void {
    const place = memberOf(message.text, message.body, 'uri');
    const uri = place === 'ambiguous' ? undefined : stringValue(message.text, place);
    if (uri !== undefined && this.itemView?.hides('resource', this.nameOf(target), uri) === true) return;
    const names: ItemNameSource = () =>
      uri === undefined ? undefined : { kind: 'resource', target: this.nameOf(target), name: uri };
    const shown = uri === undefined ? undefined : this.federation?.naming.shownUri(this.nameOf(target), uri);
    const text =
      shown === undefined || shown === uri || typeof place !== 'object'
        ? message.text
        : splice(message.text, [{ ...place, replacement: JSON.stringify(shown) }]);
    this.streams.deliver(text, 'other', undefined, own, names);
  }

  /** A request of a server, with the URIs of the client, and with a progress token that tells the server. */
  private requestForClient(target: TargetConnection, message: Envelope): Envelope {
    const { federation } = this;
    if (federation === undefined) return message;
    const { text, body } = message;
    const meta = memberOf(text, body, '_meta');
    const token = meta === 'ambiguous' ? undefined : memberOf(text, meta, 'progressToken');
    const edits = [
      ...uriEdits(text, body, (uri) => federation.naming.shownUri(this.nameOf(target), uri)),
      ...(typeof token === 'object'
        ? [{ ...token, replacement: serverToken(target.name, cut(text, token)) }]
        : []),
    ];
    return edited(message, edits);
  }

  /** The time of a target's calls stands still while the client has a question of it. */
  private hold(target: TargetConnection): void {
    target.hold(this.asked.asks(target.name));
  }

  /** Progress goes on the stream of the call it is about, under the client's token. */
  private progress(target: TargetConnection, message: Envelope): void {
    const place = memberOf(message.text, message.body, 'progressToken');
    if (place === undefined || place === 'ambiguous') return;
    const token = Number(message.text.slice(place.start, place.end));
    const call = target.pending(token);
    if (call instanceof Call && call.tokenText !== undefined) {
      target.progressed(token);
      const text = splice(message.text, [{ ...place, replacement: call.tokenText }]);
      if (call.answer.takesProgress) call.answer.push(text);
      else this.streams.deliver(text, 'other');
      return;
    }
    const ofTask = this.taskTokens.get(tokenKey(target, token));
    if (ofTask !== undefined)
      this.streams.deliver(splice(message.text, [{ ...place, replacement: ofTask }]), 'other');
  }

  /** A server takes a request of its own back. */
  private withdrawn(target: TargetConnection, message: Envelope): void {
    const place = memberOf(message.text, message.body, 'requestId');
    if (place === undefined || place === 'ambiguous') return;
    const idText = cut(message.text, place);
    const id = readId(idText);
    const { generation } = target;
    const askedId =
      (id === undefined ? undefined : this.asked.withdraw(target.name, id)) ??
      // It may have been asked by way of another process.
      (this.shared ? idWithServerId({ generation, idText }) : undefined);
    if (askedId === undefined) return;
    this.hold(target);
    const replacement = JSON.stringify(askedId);
    this.streams.withdraw(askedId, splice(message.text, [{ ...place, replacement }]));
  }

  onDown(target: TargetConnection): void {
    // The next session with the server is another one than the id tells of.
    this.carried = false;
    target.hold(false);
    this.federation?.onDown(target);
    for (const askedId of this.asked.withdrawAll(target.name))
      this.streams.withdraw(
        askedId,
        `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":${JSON.stringify(askedId)},"reason":"the server ended"}}`,
      );
  }

  onGone(target: TargetConnection): void {
    if (this.federation !== undefined) {
      this.federation.onGone(target);
      return;
    }
    this.log.info('Session ended: the server no longer knows it');
    this.onGoneHere(this);
    void this.end(0);
  }

  onTaken(target: TargetConnection): void {
    if (this.federation === undefined) void this.end(0);
    else this.federation.onGone(target);
  }

  /** Answers a server in the place of a client that cannot be reached. */
  refuse(askedId: RpcId, why: string): void {
    const asked = this.asked.take(askedId);
    if (asked === undefined) return;
    const target = this.targets.get(asked.target);
    if (target !== undefined) this.hold(target);
    const error = new GatewayError('mcp_client_busy', { message: why });
    this.targets.get(asked.target)?.send(errorResponse(error, asked.idText));
  }

  private rememberTask(target: TargetConnection, wireId: number, tokenText: string): void {
    this.taskTokens.set(tokenKey(target, wireId), tokenText);
    if (this.taskTokens.size > maxTaskTokens) {
      const [oldest] = this.taskTokens.keys();
      this.taskTokens.delete(oldest!);
    }
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
   * Ends what is here of it: others may go on with it.
   * @returns what ends it at its servers (never rejects)
   */
  leave(): () => Promise<unknown> {
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
      createdAt: this.createdAt,
      resumed: this.resumed,
      lastUsedAt: this.lastUsedAt,
      attached: this.attached,
      streams: this.streams.open,
      held: this.streams.held,
      pressed: this.streams.pressedNow,
      targets: this.federation?.views() ?? [...this.targets.values()].map((target) => target.view()),
    };
  }
}

/** The key of a task's token. */
const tokenKey = ({ name }: TargetConnection, wireId: number): string => `${wireId} ${name}`;

const isListChanged = (method: string): boolean => method.endsWith('/list_changed');

/** The progress token that a client sees for one of a server; two servers may use the same. */
const serverToken = (target: string, tokenText: string): string => JSON.stringify(`${target} ${tokenText}`);

/** Reads what `serverToken` wrote; undefined for anything else. */
function readServerToken(
  token: string | undefined,
): { readonly target: string; readonly tokenText: string } | undefined {
  const [, target, tokenText] = (token !== undefined && /^(\S+) (.+)$/s.exec(token)) || [];
  if (target === undefined || tokenText === undefined || readId(tokenText) === undefined) return undefined;
  return { target, tokenText };
}

/** The id of the request that a notification takes back. */
function cancelledId({ text, body }: Envelope): RpcId | undefined {
  const place = memberOf(text, body, 'requestId');
  if (place === undefined || place === 'ambiguous') return undefined;
  return readId(text.slice(place.start, place.end));
}

function readId(text: string): RpcId | undefined {
  // No call has a longer one.
  if (text.length > maxIdLength) return undefined;
  try {
    const id: unknown = JSON.parse(text);
    return typeof id === 'string' || typeof id === 'number' ? id : undefined;
  } catch {
    return undefined;
  }
}
