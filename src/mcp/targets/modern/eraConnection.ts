import { asGatewayError } from '../../../errors.ts';
import type { Limits } from '../../../model/index.ts';
import type { ChildEnvironment, Reach } from '../../contract.ts';
import type { Era } from '../../messages/eras.ts';
import type { Outgoing } from '../../messages/outgoing.ts';
import { targetError } from '../../messages/rpcError.ts';
import { StandIn } from '../kind/standIn.ts';
import type { Opening, TargetConnection, TargetListener, TargetPlace, Waiter } from '../kind/target.ts';
import type { TakenUp, TargetSession, TargetUse } from '../kind/targetRuntime.ts';
import { isCarried } from './clientFacts.ts';
import { hasChangedEra, signOf, type EraSign } from './eraSigns.ts';
import { otherEra, type EraVerdicts } from './eraVerdicts.ts';
import { InnerSession } from './innerSession.ts';
import { ModernConnection } from './modernConnection.ts';
import { OuterConnection } from './outerConnection.ts';

export interface EraStart {
  readonly name: string;
  readonly use: TargetUse;
  /** Names the server, whatever the configuration calls it. */
  readonly server: string;
  /**
   * The time for a child that may be of either era to answer `server/discover`, in milliseconds: servers of the legacy
   * era may not answer at all. Undefined: the server is reached over HTTP.
   */
  readonly probeMs: number | undefined;
  readonly verdicts: EraVerdicts;
  /** Makes a connection of the kind. @throws GatewayError policy_failed */
  readonly connect: (use: TargetUse) => TargetConnection;
  readonly limits: () => Limits;
  readonly now: () => number;
}

/** The answer of a server that does not speak an era, or may not speak it. */
interface Refusal {
  readonly opening: Opening;
  readonly sign: EraSign;
}

/** The time for a child to leave that speaks the other era, in milliseconds. */
const leaveGraceMs = 3_000;

/**
 * A session with a server of either era. The server is spoken to in the era of the client where it speaks that era, and
 * in the other one otherwise.
 */
export class EraConnection extends OuterConnection {
  readonly name: string;
  /** Children are reached in one way. */
  readonly use?: (reach: Reach) => void;
  /** Only children have an environment. */
  readonly inject?: (environment: ChildEnvironment) => void;
  /** Only children can be stopped meanwhile. */
  readonly park?: () => boolean;
  private readonly start: EraStart;
  private current: TargetConnection;
  private reach: Reach | undefined;
  private environment: ChildEnvironment | undefined;
  private paused = false;
  private clientListens = false;
  /** Connections that were made: the last one counts. */
  private made = 0;
  private opened = false;
  private closed = false;
  private timer: NodeJS.Timeout | undefined;

  private constructor(start: EraStart, make: (self: EraConnection) => TargetConnection) {
    super();
    this.start = start;
    this.name = start.name;
    if (this.overHttp)
      this.use = (reach) => {
        this.reach = reach;
        this.current.use?.(reach);
      };
    else {
      this.park = () => this.current.park?.() ?? false;
      this.inject = (environment) => {
        this.environment = environment;
        this.current.inject?.(environment);
      };
    }
    this.current = make(this);
  }

  /** @throws GatewayError policy_failed */
  static connect(start: EraStart): EraConnection {
    const { server, verdicts, use } = start;
    return new EraConnection(start, (self) => self.make(verdicts.first(server, use.session.era)));
  }

  /**
   * Continues a session of another process.
   * @param takeUp continues it with a server of the legacy era
   * @throws GatewayError policy_failed
   */
  static takeUp(start: EraStart, place: TargetPlace, takeUp: (use: TargetUse) => TakenUp): TakenUp {
    let ready: Promise<void> = Promise.resolve();
    const connection = new EraConnection(start, (self) => {
      if (isCarried(place.serverSession)) {
        const modern = self.makeModern();
        ready = modern.takeUp(place);
        return modern;
      }
      const taken = takeUp(self.legacyUse());
      ({ ready } = taken);
      return taken.connection;
    });
    connection.opened = true;
    return { connection, ready };
  }

  private get overHttp(): boolean {
    return this.start.probeMs === undefined;
  }

  // Connections in one of the eras

  private make(era: Era): TargetConnection {
    return era === 'modern' ? this.makeModern() : this.start.connect(this.legacyUse());
  }

  private legacyUse(): TargetUse {
    const { session } = this.start.use;
    return { ...this.currentUse, session: new InnerSession(session, this.listenerFor(session)) };
  }

  private makeModern(): ModernConnection {
    const { start, currentUse, overHttp } = this;
    const { session, log } = start.use;
    const { limits, now } = start;
    return new ModernConnection({
      session,
      listener: this.listenerFor(session),
      overHttp,
      connect: (inner) => start.connect({ ...currentUse, session: inner, serverEra: 'modern' }),
      limits,
      log,
      now,
    });
  }

  private get currentUse(): TargetUse {
    const { use } = this.start;
    return {
      ...use,
      reach: () => this.reach ?? use.reach(),
      environment: () => this.environment ?? use.environment(),
    };
  }

  /** The session knows this connection, whatever is inside of it. */
  private listenerFor(session: TargetSession): TargetListener {
    const number = ++this.made;
    const counts = (): boolean => number === this.made;
    return {
      onMessage: (_inner, message, origin) => {
        if (counts()) session.onMessage(this, message, origin);
      },
      canSeeResource: () => session.canSeeResource(this),
      onDown: () => {
        // A child that knows the other era only may end by itself.
        if (counts() && this.opened) session.onDown(this);
      },
      onUp: () => {
        if (counts() && this.opened) session.onUp?.(this);
      },
      onRefused: (_inner, opening) => {
        if (counts() && this.opened && hasChangedEra(opening, this.era)) this.changed(session);
      },
      onGone: () => session.onGone(this),
      onTaken: () => session.onTaken(this),
    };
  }

  // The choice

  open(initialize: Outgoing, waiter: Waiter): void {
    this.ask(initialize, waiter, this.era);
  }

  /** @param before the answer of the server in the other era */
  private ask(initialize: Outgoing, waiter: Waiter, era: Era, before?: Refusal): void {
    const { start, current } = this;
    let isOver = false;
    const settled = (opening: Opening): void => {
      if (isOver) return;
      isOver = true;
      clearTimeout(this.timer);
      const sign = signOf(opening, era, !this.overHttp);
      const isRefused = sign !== 'spoken' && sign !== 'none';
      if (isRefused && before === undefined && !this.closed) {
        this.fallBack(initialize, waiter, era, { opening, sign });
        return;
      }
      if (sign === 'spoken') this.found(era, before?.sign);
      // The first answer is the one to what the client has said.
      tell(waiter, isRefused && era === 'modern' && before !== undefined ? before.opening : opening);
    };
    const { probeMs } = start;
    const isKnown = start.verdicts.speaks(start.server, era) === true;
    if (era === 'modern' && probeMs !== undefined && before === undefined && !isKnown) {
      const error = targetError(
        'mcp_target_timeout',
        this.name,
        `did not answer server/discover in ${probeMs} ms`,
      );
      this.timer = setTimeout(() => settled({ error }), probeMs).unref();
    }
    current.open(
      initialize,
      new StandIn(waiter, {
        answered: (response) => settled({ response }),
        failed: (error) => settled({ error }),
      }),
    );
  }

  private fallBack(initialize: Outgoing, waiter: Waiter, era: Era, refusal: Refusal): void {
    const other = otherEra[era];
    // The next child starts when nothing of this one is left: they may share files or ports.
    void this.current.close(this.overHttp ? 0 : leaveGraceMs).then(() => {
      if (this.closed) {
        tell(waiter, refusal.opening);
        return;
      }
      try {
        this.current = this.make(other);
      } catch (error) {
        waiter.failed(asGatewayError(error));
        return;
      }
      if (this.paused) this.current.pause();
      if (this.clientListens) this.current.setClientListening?.(true);
      this.ask(initialize, waiter, other, refusal);
    });
  }

  /** @param before the sign of the server in the other era */
  private found(era: Era, before: EraSign | undefined): void {
    const { verdicts, server, use } = this.start;
    this.opened = true;
    const hasSpoken = verdicts.speaks(server, otherEra[era]);
    const isNews = verdicts.record(server, era, true);
    if (before === 'refused' || (before === 'doubted' && hasSpoken !== true))
      verdicts.record(server, otherEra[era], false);
    if (isNews) use.log.info('Era of the target found', { era });
  }

  /** Another program serves in place of the former one: its session begins in the other era. */
  private changed(session: TargetSession): void {
    this.start.use.log.info('Era of the target changed', { before: this.era });
    const error = targetError('mcp_target_failed', this.name, 'speaks another era of MCP now');
    for (const [wireId, waiter] of [...this.calls()]) {
      this.forget(wireId);
      waiter.failed(error);
    }
    session.onGone(this);
  }

  // TargetConnection

  protected get inner(): TargetConnection {
    return this.current;
  }

  get era(): Era {
    return this.current.era ?? 'legacy';
  }

  override setClientListening(wanted: boolean): void {
    this.clientListens = wanted;
    super.setClientListening(wanted);
  }

  override pause(): void {
    this.paused = true;
    super.pause();
  }

  override resume(): void {
    this.paused = false;
    super.resume();
  }

  protected override end(): void {
    this.closed = true;
    clearTimeout(this.timer);
  }
}

/** Hands the answer of the server to the session. */
function tell(waiter: Waiter, opening: Opening): void {
  if ('response' in opening) waiter.answered(opening.response);
  else waiter.failed(opening.error);
}
