import type { GatewayError } from '../../../errors.ts';
import type { HeaderLine } from '../../../http/index.ts';
import type { Limits } from '../../../model/index.ts';
import type { Logger } from '../../../telemetry/index.ts';
import type { ChildEnvironment, Reach } from '../../contract.ts';
import { memberOf, readEnvelope, stringValue, type Envelope, type RpcId } from '../../json/envelope.ts';
import { ownMessage, ownNotification } from '../../json/ownMessage.ts';
import type { Outgoing } from '../../messages/outgoing.ts';
import { carriesRevision } from '../../messages/requestMeta.ts';
import { targetError } from '../../messages/rpcError.ts';
import type {
  CanSeeResource,
  MessageOrigin,
  RequestWithLines,
  TargetConnection,
  TargetListener,
  TargetPlace,
  TargetView,
  Waiter,
} from '../kind/target.ts';
import { StandIn } from '../kind/standIn.ts';
import type { TargetSession } from '../kind/targetRuntime.ts';
import { Bridge } from './bridge.ts';
import { carried, clientFacts, metaOf, readCarried } from './clientFacts.ts';
import { discoverRequest, initializeResponse, NotModernError, readDiscovery } from './discovery.ts';
import { InnerSession } from './innerSession.ts';
import type { ListenStream } from './listenStream.ts';
import { answerLocally, type LocalState } from './localAnswers.ts';
import { OuterConnection } from './outerConnection.ts';
import { Subscriptions } from './subscriptions.ts';

export interface ModernStart {
  readonly session: TargetSession;
  /** Hears of the server. */
  readonly listener: TargetListener;
  /** The server is reached over HTTP; others are child processes. */
  readonly overHttp: boolean;
  /** Makes the connection below: it speaks the modern era. @throws GatewayError policy_failed */
  readonly connect: (session: TargetSession) => TargetConnection;
  readonly limits: () => Limits;
  readonly log: Logger;
  readonly now: () => number;
}

/** Notifications of legacy clients that the modern era has no more. */
const legacyNotifications: ReadonlySet<string> = new Set([
  'notifications/initialized',
  'notifications/progress',
  'notifications/roots/list_changed',
  'notifications/tasks/status',
]);

/**
 * A session with a server of the modern era, on top of a connection that knows its transport. The server keeps no
 * session: this class keeps what it takes, and bridges the requests of clients of the legacy era.
 */
export class ModernConnection extends OuterConnection {
  readonly name: string;
  readonly era = 'modern';
  private readonly start: ModernStart;
  private readonly server: TargetConnection;
  private readonly bridge: Bridge;
  private readonly bridges: boolean;
  private readonly subscriptions: Subscriptions;
  private readonly local: LocalState;
  /** The revision that the client was told. */
  private version: string | undefined;
  private clientListens = false;
  /** A list has been read: the session must hear when it changes. */
  private listed = false;

  constructor(start: ModernStart) {
    super();
    this.start = start;
    this.bridges = start.session.era === 'legacy';
    const { overHttp, limits, log, now, listener } = start;
    const { keep } = start.session;
    this.server = start.connect(new InnerSession(start.session, this.listener()));
    this.name = this.server.name;
    this.bridge = new Bridge({
      server: this.server,
      overHttp,
      bridges: this.bridges,
      logLevel: () => this.local.logLevel,
      keep,
      limits,
      log,
      tell: (message, origin) => listener.onMessage(this, message, origin),
    });
    this.subscriptions = new Subscriptions({
      log,
      keep,
      now,
      listen: (filter, stream) => this.listen(filter, stream),
      leave: (stream) => this.cancel(stream.wireId),
      isReady: () => this.server.view().state === 'ready',
      tell: (notification) => listener.onMessage(this, notification, 'aside'),
      canSeeResource: () => listener.canSeeResource(this),
    });
    this.local = { subscriptions: this.subscriptions, hasLogging: false, logLevel: undefined };
  }

  // TargetConnection

  protected get inner(): TargetConnection {
    return this.server;
  }

  use(reach: Reach): void {
    this.server.use?.(reach);
  }

  inject(environment: ChildEnvironment): void {
    this.server.inject?.(environment);
  }

  open(out: Outgoing, waiter: Waiter): void {
    this.bridge.client = clientFacts(out.envelope, this.bridges);
    this.discover(
      new StandIn(waiter, {
        answered: (response) => {
          const found = response.isError ? undefined : readDiscovery(response);
          if (response.isError) waiter.answered(response);
          else if (found === undefined) {
            void this.close(0);
            waiter.failed(new NotModernError(this.name));
          } else {
            this.local.hasLogging = found.hasLogging;
            this.subscriptions.begin(found);
            const initialized = initializeResponse(found, out.envelope, this.name, this.bridges);
            this.version = versionIn(initialized);
            waiter.answered(initialized);
          }
        },
        failed: (error) => waiter.failed(error),
      }),
    );
  }

  /**
   * Goes on with a session of another process, whose client is as this one carried it.
   * @throws GatewayError what the server failed with
   */
  async takeUp({ serverSession = '', version }: TargetPlace): Promise<void> {
    this.bridge.client = readCarried(serverSession);
    this.version = version;
    const { promise, resolve, reject } = Promise.withResolvers<Envelope>();
    this.discover({ answered: resolve, failed: (error: GatewayError) => reject(error) });
    const response = await promise;
    const found = response.isError ? undefined : readDiscovery(response);
    if (found === undefined) throw new NotModernError(this.name);
    this.local.hasLogging = found.hasLogging;
    this.subscriptions.begin(found);
  }

  private discover(waiter: Waiter): void {
    const envelope = discoverRequest(this.bridge.client);
    this.server.open({ envelope, token: undefined, edits: [] }, waiter);
  }

  override call(out: Outgoing, waiter: Waiter): number {
    this.subscriptions.wake();
    const { envelope } = out;
    if (answerLocally(this.local, out, waiter, this.bridges)) return 0;
    if (envelope.method.endsWith('/list') && !this.listed) {
      this.listed = true;
      this.chooseLists();
    }
    return this.bridges || !carriesRevision(envelope)
      ? this.bridge.call(out, waiter)
      : this.bridge.pass(out, waiter);
  }

  override send(text: string, method = ''): void {
    const message = readEnvelope(text);
    if (typeof message === 'string') return;
    if (message.kind === 'response') this.bridge.held.answer(message);
    else if (message.method === 'notifications/initialized') this.chooseLists();
    else if (message.method === 'notifications/cancelled') {
      // The server has answered a call that waits for the client.
      if (this.bridge.held.get(cancelledId(message)) === undefined) this.server.send(text, message.method);
    } else if (!this.start.overHttp && !legacyNotifications.has(message.method))
      this.server.send(text, method);
  }

  override pending(wireId: RpcId): Waiter | undefined {
    const held = typeof wireId === 'number' ? this.bridge.held.get(wireId)?.client : undefined;
    return held ?? Bridge.clientOf(this.server.pending(wireId));
  }

  override *calls(): Iterable<[number, Waiter]> {
    for (const [wireId, waiter] of this.server.calls()) yield [wireId, Bridge.clientOf(waiter)!];
    yield* this.bridge.held.all();
  }

  override dropAbandoned(): boolean {
    return this.bridge.held.dropAbandoned() || this.server.dropAbandoned();
  }

  override forget(wireId: number): void {
    const held = this.bridge.held.get(wireId);
    if (held === undefined) this.server.forget(wireId);
    else this.bridge.held.drop(held);
  }

  override hold(waits: boolean): void {
    super.hold(waits);
    this.bridge.held.hold(waits);
  }

  /** A server over HTTP keeps nothing of the session: another process needs to know the client. */
  override get place(): TargetPlace | undefined {
    if (!this.bridges || this.server.place === undefined) return undefined;
    return { serverSession: carried(this.bridge.client), version: this.version, address: undefined };
  }

  override get awaitsCaller(): boolean {
    return this.subscriptions.awaitsCaller;
  }

  override attended(canSeeResource: CanSeeResource): void {
    this.subscriptions.attended(canSeeResource);
  }

  override setClientListening(wanted: boolean): void {
    this.clientListens = wanted;
    // A child that was taken starts again; a stream of GET is nothing that a server over HTTP has.
    if (!this.start.overHttp) this.server.setClientListening?.(wanted);
    this.chooseLists();
  }

  override watchTask(id: string): Promise<boolean> {
    return this.subscriptions.watchTask(id);
  }

  override unwatchTask(id: string): void {
    this.subscriptions.unwatchTask(id);
  }

  override parameterLines(changed: Envelope, before: RequestWithLines): Promise<readonly HeaderLine[]> {
    return this.bridge.parameterLines(changed, before);
  }

  override get hearing(): Promise<void> | undefined {
    return this.subscriptions.opened;
  }

  /** The next child is told again what the client said. */
  park(): boolean {
    return this.server.park?.() ?? false;
  }

  override view(): TargetView {
    const view = this.server.view();
    const pending = view.pending - this.subscriptions.streams + this.bridge.held.size;
    return { ...view, pending: Math.max(0, pending), era: this.era };
  }

  protected override end(): void {
    this.subscriptions.close();
    this.bridge.held.close(targetError('mcp_target_failed', this.name, 'has been stopped'));
  }

  // Streams of notifications

  /**
   * If several processes hold the session, only the one with the client's stream hears of changes. Over stdio the server
   * would otherwise be silent, as servers of the legacy era are not.
   */
  private chooseLists(): void {
    const { overHttp, session } = this.start;
    const unasked = this.listed && session.hearsOfLists && !session.shared;
    this.subscriptions.listenForLists(!overHttp || this.clientListens || unasked);
  }

  private listen(filter: string, stream: ListenStream): number {
    const params = `{"_meta":{${metaOf(this.bridge.client)}},"notifications":${filter}}`;
    const envelope = ownMessage('subscriptions/listen', params);
    return this.server.call({ envelope, token: undefined, edits: [] }, stream);
  }

  private cancel(wireId: number): void {
    const method = 'notifications/cancelled';
    if (this.server.pending(wireId) !== undefined)
      this.server.send(ownNotification(method, JSON.stringify({ requestId: wireId })).text, method);
    // It may wait for a restart of the server.
    this.server.forget(wireId);
  }

  // The server

  private listener(): TargetListener {
    const { listener } = this.start;
    return {
      onMessage: (_server, message, origin) => this.heard(message, origin),
      canSeeResource: () => listener.canSeeResource(this),
      onDown: () => {
        this.subscriptions.down();
        const reason = 'ended while it waited for the client';
        this.bridge.held.failAll(targetError('mcp_target_failed', this.name, reason));
        listener.onDown(this);
      },
      onAgain: () => this.subscriptions.again(),
      onUp: () => {
        // A child that several sessions use has begun again without telling before.
        this.subscriptions.again();
        listener.onUp?.(this);
      },
      onRefused: (_server, opening) => listener.onRefused?.(this, opening),
      onGone: () => listener.onGone(this),
      onTaken: () => listener.onTaken(this),
    };
  }

  private heard(message: Envelope, origin: MessageOrigin): void {
    // 2026-07-28, Receiving Messages: a server asks by its results only.
    if (message.kind === 'request') this.bridge.trouble(`sent the request ${message.method.slice(0, 64)}`);
    else if (!this.subscriptions.heard(message, origin)) {
      const belongsTo = typeof origin === 'object' ? Bridge.clientOf(origin) : origin;
      this.start.listener.onMessage(this, message, belongsTo);
    }
  }
}

/** The revision in an answer to `initialize`. */
function versionIn({ text, body }: Envelope): string | undefined {
  const place = memberOf(text, body, 'protocolVersion');
  return place === 'ambiguous' ? undefined : stringValue(text, place);
}

/** The id on the wire of the call that a notification takes back. */
function cancelledId({ text, body }: Envelope): number {
  const place = memberOf(text, body, 'requestId');
  return typeof place === 'object' ? Number(text.slice(place.start, place.end)) : 0;
}
