import { ownCopy } from '../../ownCopy.ts';
import type { Era } from '../messages/eras.ts';
import type { McpBackend, McpTarget } from '../../model/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import type { Caller, CallerWays } from '../contract.ts';
import type { Envelope, RpcId } from '../json/envelope.ts';
import type { ItemKind } from '../items/items.ts';
import { Naming, namingOf } from '../items/naming.ts';
import type { CallLimit } from '../limits/callTimeouts.ts';
import { changedText, listed, listOfMethod } from '../messages/listNews.ts';
import type { RetainedMemory } from '../limits/retainedMemory.ts';
import { toolNamesOf } from '../targets/facts.ts';
import { serverOf } from '../targets/sameServer.ts';
import type { TargetConnection, TargetView } from '../targets/kind/target.ts';
import { callerKey } from '../session/callerKey.ts';
import type { SessionFederation } from '../session/sessionFederation.ts';
import { has, serverFacts } from './capabilities.ts';
import type { Circuits } from './circuits.ts';
import { KeptPages } from './keptPages.ts';
import { Member, type Adopted } from './member.ts';
import type { NameOwners } from './nameOwners.ts';
import { ask, type AskedFor } from './targetAsk.ts';
import type { PinGuard } from './pinGuard.ts';
import type { ListReader } from './targetLists.ts';
import type { StartFailure } from '../session/targetStarts.ts';

/** The parts of a session that its federation uses. */
export interface FederatedSession {
  readonly era: Era;
  readonly log: Logger;
  readonly keep: RetainedMemory;
  readonly principal: string | undefined;
  readonly backendKey: string;
  readonly streams: { readonly open: number; deliver(text: string, kind: 'other'): void };
  readonly targets: { add(target: McpTarget, connection: TargetConnection): void };
  part(connection: TargetConnection): void;
  wayTo(connection: TargetConnection, ways: undefined): AskedFor;
  listened(): void;
  /** Was the client told that there is such a list? */
  hearsOf(list: string): boolean;
}

export interface FederationStart {
  readonly session: FederatedSession;
  readonly settings: McpBackend;
  /** Shared by the sessions of the process. */
  readonly circuits: Circuits;
  readonly owners: NameOwners;
  /** Absent: no folder of pins is configured. */
  readonly pins: PinGuard | undefined;
  /** Hears of the end of each start of a target. @param failure absent: it worked */
  readonly onStart: (target: string, failure?: StartFailure) => void;
  /** @throws GatewayError policy_failed */
  readonly connect: (target: McpTarget, ways: CallerWays) => TargetConnection;
}

/** The time that a request to all targets waits for slow ones under `failOpen`, in milliseconds. */
const usualWaitMs = 5_000;
/** A session is told of its log level, and a target of its subscriptions, within this time. */
const ownLimit: CallLimit = { ms: 30_000 };
/** Requests of one session that may wait for targets at the same time. A held session serves many clients. */
const maxBroad = { legacy: 1_024, modern: 16_384 } as const;
const initializedText = '{"jsonrpc":"2.0","method":"notifications/initialized"}';

/** An item that the view hides, or gives another name, does not have its own one. */
const isOwnName = (view: Naming['view'], kind: ItemKind, target: string, name: string): boolean =>
  view === undefined || (!view.hides(kind, target, name) && view.newName(kind, target, name) === undefined);

const waysOf = ({ reach, reachesAlike, credentialsDigest, environment }: Caller): CallerWays => ({
  reach,
  reachesAlike,
  credentialsDigest,
  environment,
});

/** A request that went to all targets, and can be taken back. */
export interface BroadRequest {
  readonly id: RpcId;
  /** Its client has left: it gives its place to other calls. */
  readonly givesWay: boolean;
  cancel(): void;
}

/**
 * The targets of one session that has several. It starts them side by side, keeps what they said of themselves, and
 * brings them in line with the configuration of each request.
 */
export class Federation implements SessionFederation {
  settings: McpBackend;
  naming: Naming;
  /** Pages of merged lists, for as long as nothing changes. */
  readonly pages: KeptPages;
  private readonly start: FederationStart;
  /** The functions of the newest caller alone: the caller would keep its whole request alive. */
  private ways: CallerWays;
  /** Names the newest caller; undefined until it is asked for. */
  private knownCaller: string | undefined;
  private knownScope: string | undefined;
  private lastScope: string | undefined;
  /** In configured order, by name. */
  private members = new Map<string, Member>();
  /** Members that start with the next caller: the configuration has just named their targets. */
  private readonly added: Member[] = [];
  private initialize: Envelope | undefined;
  /** The client's words; undefined before. */
  private initializedBy: string | undefined;
  private level: string | undefined;
  /** The client has the answer to `initialize`: it can be told of news. */
  private begun = false;
  private readonly broad = new Set<BroadRequest>();

  constructor(start: FederationStart, caller: Caller) {
    this.start = start;
    this.pages = new KeptPages(start.session.keep);
    this.settings = start.settings;
    this.naming = namingOf(start.settings);
    this.ways = waysOf(caller);
  }

  /** Backend and newest caller: lists may differ from caller to caller. */
  get scope(): string {
    if (this.knownScope === undefined) {
      const { session, owners } = this.start;
      this.knownScope = JSON.stringify([session.backendKey, this.caller]);
      const before = this.lastScope;
      this.lastScope = this.knownScope;
      if (before !== undefined && before !== this.knownScope) owners.takeOver(before, this.knownScope);
    }
    return this.knownScope;
  }

  private get caller(): string {
    const { session } = this.start;
    return (this.knownCaller ??= callerKey(session.principal, this.settings.targets, this.ways));
  }

  get owners(): NameOwners {
    return this.start.owners;
  }

  get log(): Logger {
    return this.start.session.log;
  }

  /** In configured order. */
  get all(): readonly Member[] {
    return [...this.members.values()];
  }

  get failOpen(): boolean {
    return this.settings.failOpen === true;
  }

  get waitMs(): number {
    return this.settings.targetWaitMs ?? usualWaitMs;
  }

  private get names(): readonly string[] {
    return this.settings.targets.map(({ name }) => name);
  }

  /** Does a client reach the item under its shown name? An item that another target hides is noted. */
  reaches(kind: ItemKind, target: string, name: string): boolean {
    if (this.naming.isTaken(kind, target, name)) return false;
    const found = this.naming.itemOf(kind, this.naming.shownName(kind, target, name));
    const owner =
      found === undefined || 'target' in found
        ? found?.target
        : found.candidates.length === 1
          ? found.candidates[0]
          : this.names.find((one) => this.has(one, kind, name));
    if (owner === undefined || owner === target) return true;
    this.start.owners.hidden({ backend: this.start.session.backendKey, kind, name, owner, target });
    return false;
  }

  /** Does a target have the name in its list? Where the list is unknown, a name that it may have counts. */
  private has(target: string, kind: ItemKind, name: string): boolean {
    const { owners } = this.start;
    return owners.namesOf(this.scope, target, kind)?.has(name) ?? this.mayOwn(kind, target, name);
  }

  /** Is a name one of a target whose list cannot be read, as far as the configuration, other callers and pins tell? */
  mayOwn(kind: ItemKind, target: string, name: string): boolean {
    const { view } = this.naming;
    if (!isOwnName(view, kind, target, name)) return false;
    const { owners, session } = this.start;
    const configured = this.members.get(target)?.target;
    return (
      owners.ofBackends.has(session.backendKey, target, kind, name) ||
      view?.chooses(kind, target, name) === true ||
      (kind === 'tool' && configured !== undefined && toolNamesOf(configured)?.includes(name) === true)
    );
  }

  /** Notes the names in the whole list of a target. */
  learn(target: string, kind: ItemKind, names: readonly string[]): void {
    const { owners, session } = this.start;
    const { view } = this.naming;
    owners.learn(
      this.scope,
      target,
      kind,
      names.filter((name) => isOwnName(view, kind, target, name)),
    );
    if (this.sharesNames) owners.ofBackends.learn(session.backendKey, target, kind, names);
  }

  /** Learns the pinned names of targets whose lists are unknown, before a later target is given one of them. */
  async recallNames(kind: ItemKind): Promise<void> {
    const { owners, session, pins } = this.start;
    if (!this.sharesNames || pins === undefined || this.settings.pin === undefined) return;
    const { backendKey } = session;
    const unknown = this.names.filter((name) => owners.namesOf(this.scope, name, kind) === undefined);
    await Promise.all(
      unknown.map((name) => owners.ofBackends.recall(backendKey, name, () => pins.names(backendKey, name))),
    );
  }

  /** Names carry no target. */
  private get sharesNames(): boolean {
    return this.settings.prefixMode === 'never';
  }

  /** The judge of definitions of a target; empty where the backend pins none. */
  guardOf(target: string): Pick<ListReader, 'allows'> {
    const { pins, session } = this.start;
    const { pin: mode } = this.settings;
    if (pins === undefined || mode === undefined) return {};
    const scope = { backend: session.backendKey, target, mode };
    return {
      // An item without one name has no definition that could be compared.
      allows: async (kind, name, text) =>
        name === undefined ? mode === 'warn' : await pins.allows(scope, kind, name, text),
    };
  }

  /** Changed definitions are withheld: a call needs one that has been compared. */
  get enforcesPins(): boolean {
    return this.settings.pin === 'enforce';
  }

  member(name: string): Member | undefined {
    return this.members.get(name);
  }

  /** Starts every target. @param initialize the client's, for all of them and for those that come later */
  begin(initialize: Envelope): void {
    this.initialize = initialize;
    for (const target of this.settings.targets) this.add(target);
    this.startAdded();
  }

  /** Every target starts with the first request that needs it. @param initialize the gateway's own */
  beginOnDemand(initialize: Envelope): void {
    this.initialize = initialize;
    this.initializedBy = initializedText;
    for (const target of this.settings.targets) this.members.set(target.name, this.memberOf(target));
  }

  revive(initialize: Envelope): void {
    this.beginOnDemand(initialize);
    this.answered();
  }

  /** The client has the answer to its initialize. */
  answered(): void {
    this.begun = true;
  }

  private add(target: McpTarget): void {
    const member = this.memberOf(target);
    this.members.set(target.name, member);
    this.added.push(member);
  }

  private startAdded(): void {
    for (const member of this.added.splice(0)) member.connected().catch(() => undefined);
  }

  private memberOf(target: McpTarget, adopted?: Adopted): Member {
    const { session, circuits, connect, onStart } = this.start;
    const { log, keep, backendKey } = session;
    return new Member(
      {
        target,
        log,
        keep,
        circuits,
        circuit: () => JSON.stringify([backendKey, serverOf(target), this.caller]),
        connect: (to) => {
          const connection = connect(to, this.ways);
          session.targets.add(to, connection);
          return connection;
        },
        moved: (to, connection) => session.targets.add(to, connection),
        disconnected: (connection) => session.part(connection),
        wayTo: (connection) => session.wayTo(connection, undefined),
        backend: backendKey,
        onStart,
        allowsInstructions: async (of, text) =>
          (await this.guardOf(of).allows?.('instructions', '', JSON.stringify({ text }))) ?? true,
        initialize: () => this.initialize!,
        onBack: (method) => this.tellChanged(listOfMethod(method)),
        onReady: (member, connection) => this.onReady(member, connection),
      },
      adopted,
    );
  }

  /** A server has answered `initialize`, maybe long after the others. */
  private onReady(member: Member, connection: TargetConnection): void {
    if (this.initializedBy !== undefined) this.confirm(connection);
    if (this.level !== undefined) this.setLevelOf(member, this.level).catch(() => undefined);
    this.start.session.listened();
    if (!this.begun) return;
    this.log.info('Target joined the session', { target: member.name });
    this.tellListsOf(member);
  }

  private tellListsOf({ facts, missed }: Member): void {
    missed.clear();
    for (const list of listed) if (facts !== undefined && has(facts, list)) this.tellChanged(list);
  }

  private confirm(connection: TargetConnection): void {
    connection.send(this.initializedBy ?? initializedText, 'notifications/initialized');
  }

  tellChanged(list: string): void {
    const { session } = this.start;
    if (this.begun && session.hearsOf(list)) session.streams.deliver(changedText(list), 'other');
  }

  // SessionFederation

  adopt(initialize: Envelope, response: Envelope, connection: TargetConnection, target: McpTarget): void {
    this.initialize = initialize;
    // The connection remembers what the client has said.
    this.initializedBy = initializedText;
    this.begun = true;
    this.members.set(target.name, this.memberOf(target, { connection, facts: serverFacts(response) }));
    // The names of the client change with the second target.
    this.naming = new Naming({ targets: [target], prefixMode: this.settings.prefixMode });
  }

  initialized(text: string): void {
    if (this.initializedBy !== undefined) return;
    // The text may be a slice of a large batch.
    this.initializedBy = text.length <= 1_024 ? ownCopy(text) : initializedText;
    for (const { ready } of this.members.values()) if (ready !== undefined) this.confirm(ready);
  }

  attachCaller(caller: Caller): void {
    this.ways = waysOf(caller);
    this.knownCaller = undefined;
    this.knownScope = undefined;
    if (this.added.length > 0) this.startAdded();
  }

  /** Targets that are new join, those that are gone leave, changed ones begin anew, and all others stay as they are. */
  follow(settings: McpBackend): void {
    const before = this.members;
    const namesBefore = this.naming;
    const pinBefore = this.settings.pin;
    this.pages.forget();
    this.settings = settings;
    this.naming = namingOf(settings);
    // A client of HTTP+SSE has a session before its initialize, and no target is started yet.
    if (this.initialize === undefined) return;
    this.members = new Map();
    for (const target of settings.targets) {
      const member = before.get(target.name);
      // The session knows a connection by its first name, which may be that of another target by now.
      const nameIsTaken = this.names.some((name) => name !== target.name && name === member?.connectedAs);
      if (member === undefined || nameIsTaken || serverOf(member.target) !== serverOf(target)) {
        this.add(target);
        continue;
      }
      before.delete(target.name);
      this.members.set(target.name, member);
      member.follow(target);
    }
    const changed = new Set<string>();
    for (const member of before.values()) {
      for (const list of listed) if (member.facts === undefined || has(member.facts, list)) changed.add(list);
      this.log.info('Target left the session: the configuration has changed', { target: member.name });
      member.remove();
    }
    const relisted =
      settings.pin !== pinBefore || this.all.some(({ name }) => !this.naming.showsAlike(namesBefore, name));
    if (relisted) for (const member of this.all) member.lists.forget();
    for (const list of relisted ? listed : changed) this.tellChanged(list);
  }

  pinsApproved(): void {
    if (!this.enforcesPins) return;
    this.pages.forget();
    for (const member of this.all) member.lists.forget();
    for (const list of listed)
      if (this.all.some(({ facts }) => facts !== undefined && has(facts, list))) this.tellChanged(list);
  }

  onListChanged(target: TargetConnection, method: string): void {
    this.pages.forget();
    for (const member of this.members.values())
      if (member.owns(target))
        member.lists.forget(method.slice('notifications/'.length, -'/list_changed'.length));
  }

  onDown(target: TargetConnection): void {
    this.pages.forget();
    for (const member of this.members.values()) if (member.owns(target)) member.lists.forget();
  }

  onUp(target: TargetConnection): void {
    this.pages.forget();
    for (const member of this.members.values())
      if (member.owns(target)) {
        member.lists.forget();
        this.tellListsOf(member);
      }
  }

  onGone(target: TargetConnection): void {
    this.pages.forget();
    for (const member of this.members.values()) if (member.owns(target)) member.drop();
  }

  cancel(id: RpcId): boolean {
    // The same id may be in flight twice (two POSTs): the newer one is meant.
    const found = [...this.broad].findLast((request) => request.id === id);
    found?.cancel();
    return found !== undefined;
  }

  dropAbandoned(): void {
    for (const request of [...this.broad]) if (request.givesWay) request.cancel();
  }

  tick(): void {
    if (this.begun && this.start.session.streams.open > 0)
      for (const member of this.members.values()) member.retry();
  }

  views(): readonly TargetView[] {
    return this.all.map((member) => member.view());
  }

  close(): void {
    for (const member of this.members.values()) member.stop();
  }

  /** Too many requests wait for targets, those included that were taken back. */
  get isFull(): boolean {
    return this.broad.size >= maxBroad[this.start.session.era];
  }

  /** @returns what takes the request out of the list again */
  enter(request: BroadRequest): () => void {
    this.broad.add(request);
    return () => void this.broad.delete(request);
  }

  /** The level of log messages, for targets that come later. @param params JSON text */
  rememberLevel(params: string): void {
    this.level = params;
  }

  /**
   * Sets the level of the log messages of one target, if it has any.
   * @param params JSON text
   * @returns the response of the server; undefined where it has said that it does not log
   * @throws GatewayError
   */
  async setLevelOf(
    member: Member,
    params: string,
    limit = ownLimit,
    by?: (connection: TargetConnection) => AskedFor,
  ): Promise<Envelope | undefined> {
    const connection = await member.connected();
    if (member.facts === undefined || !has(member.facts, 'logging')) return undefined;
    return await ask(connection, 'logging/setLevel', params, limit, by?.(connection));
  }
}
