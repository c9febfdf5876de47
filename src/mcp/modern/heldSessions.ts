import { createHash } from 'node:crypto';
import type { McpBackend } from '../../model/index.ts';
import type { Caller } from '../contract.ts';
import { namingOf } from '../items/naming.ts';
import { callerKey, valuesDigest, whereGiven } from '../session/callerKey.ts';
import type { Sessions } from '../session/sessions.ts';
import type { TargetStarts } from '../session/targetStarts.ts';
import type { SessionSeal } from '../session/sessionId.ts';
import { markOf } from './reachMark.ts';
import { HeldSession } from './heldSession.ts';
import { KeptSessions } from './keptSessions.ts';
import { ListedTools } from './listedTools.ts';
import type { ModernAnswer } from './modernAnswer.ts';
import { ParkedCalls } from './parkedCalls.ts';
import type { RequestMeta } from '../messages/requestMeta.ts';

/** The use of a session by one request. */
export interface HeldUse {
  readonly held: HeldSession;
  /** The request is over. */
  readonly release: () => void;
}

/** The place where the sessions of a caller are kept. */
interface Keeper {
  readonly kept: KeptSessions;
  /** Names the caller there. */
  readonly caller: string;
}

export interface HeldSessionsOptions {
  readonly sessions: Sessions;
  readonly seal: SessionSeal;
  /** The version of this program. */
  readonly version: string;
  /** Hears of the starts of targets. */
  readonly starts?: TargetStarts;
  readonly now: () => number;
  /** Set where only one client reaches this process: every anonymous caller is that client. */
  readonly soleClient?: boolean | undefined;
}

/** The time for the targets of a session of one request to leave, in milliseconds. */
const endGraceMs = 3_000;

/**
 * The sessions that serve clients of the modern era. A caller keeps one for each backend, each set of declared
 * capabilities and each of its credentials for the targets. Anonymous callers share only sessions whose targets have all
 * turned out to be of the modern era, which keep nothing between requests; each of their other requests has a session of
 * its own.
 */
export class HeldSessions {
  readonly parked: ParkedCalls<ModernAnswer>;
  private readonly options: HeldSessionsOptions;
  /** Clients list tools in one session and may call them in another one. */
  readonly listed = new ListedTools();
  private readonly ofPrincipals = new KeptSessions();
  private readonly ofAnonymous = new KeptSessions();

  constructor(options: HeldSessionsOptions) {
    this.options = options;
    this.parked = new ParkedCalls(options.seal, options.now);
  }

  /** @throws GatewayError mcp_budget_full, mcp_overloaded, shutting_down, policy_failed */
  use(settings: McpBackend, caller: Caller, meta: RequestMeta): HeldUse {
    const keeper = settings.stateless === true ? undefined : this.keeperFor(settings, caller);
    const known = keeper?.kept.find(keeper.caller, settings.key, meta.capabilities);
    const isAnonymous = caller.principal === undefined && this.options.soleClient !== true;
    if (
      known !== undefined &&
      continues(known, settings, caller, this.options) &&
      (!isAnonymous || keepsNothing(known, settings))
    )
      return { held: known, release: () => undefined };
    const held = this.open(settings, caller, meta);
    if (keeper === undefined || isAnonymous) {
      let isOver = false;
      const release = (): void => {
        if (!isOver) this.leave(held, settings, keeper);
        isOver = true;
      };
      return { held, release };
    }
    keeper.kept.keep(keeper.caller, held);
    return { held, release: () => undefined };
  }

  private keeperFor(settings: McpBackend, caller: Caller): Keeper {
    const kept = caller.principal === undefined ? this.ofAnonymous : this.ofPrincipals;
    return { kept, caller: nameOf(settings, caller) };
  }

  /** The request is over that the session was opened for: others use it, if nothing of the request can be left in it. */
  private leave(held: HeldSession, settings: McpBackend, keeper: Keeper | undefined): void {
    const other = keeper?.kept.find(keeper.caller, settings.key, held.capabilities);
    const isShared = other?.session.ended === false;
    if (keeper !== undefined && !isShared && !held.session.ended && keepsNothing(held, settings))
      keeper.kept.keep(keeper.caller, held);
    else void this.options.sessions.endSession(held.session, endGraceMs);
  }

  private open(settings: McpBackend, caller: Caller, meta: RequestMeta): HeldSession {
    const session = this.options.sessions.open(settings, caller, 'modern');
    session.attachCaller(caller, namingOf(settings));
    const { version, starts } = this.options;
    return new HeldSession(session, meta, version, (target, problem) =>
      starts?.note(settings.key, target, problem),
    );
  }

  /** Every few seconds. */
  tick(): void {
    this.parked.tick();
    this.ofPrincipals.dropEnded();
    this.ofAnonymous.dropEnded();
  }
}

/** Names a caller with its declared capabilities. */
export function keyOf(settings: McpBackend, caller: Caller, meta: RequestMeta): string {
  const kind = caller.principal === undefined ? 'anonymous' : 'user';
  return JSON.stringify([settings.key, [kind, nameOf(settings, caller)], meta.capabilities]);
}

/** Names a caller among the anonymous ones, or among the others. */
const nameOf = (settings: McpBackend, caller: Caller): string =>
  caller.principal === undefined
    ? credentialsDigest(settings, caller)
    : callerKey(caller.principal, settings.targets, caller);

/** Callers with equal credentials for the targets are equal to them. */
function credentialsDigest(settings: McpBackend, { reach, environment }: Caller): string {
  const reaches = settings.targets.map(({ name }) => {
    const found = reach && whereGiven(() => reach(name));
    return [found && markOf(found), environment && valuesDigest(environment, name)];
  });
  return createHash('sha256').update(JSON.stringify(reaches)).digest('hex');
}

/** Does the session speak the modern era with every target? Those keep nothing between requests. */
function keepsNothing({ answer, session }: HeldSession, { targets }: McpBackend): boolean {
  const connections = [...session.targets.values()];
  return (
    answer !== undefined &&
    connections.length === targets.length &&
    connections.every(({ era }) => era === 'modern')
  );
}

/** Brings a session in line with the configuration and the caller of a request; false where it cannot go on. */
function continues(
  held: HeldSession,
  settings: McpBackend,
  caller: Caller,
  { sessions, version }: HeldSessionsOptions,
): boolean {
  const { session } = held;
  if (session.ended) return false;
  session.touch();
  sessions.extend(session, settings, caller);
  if (!session.follow(settings)) {
    void sessions.endSession(session, endGraceMs);
    return false;
  }
  held.follow(version);
  session.attachCaller(caller, namingOf(settings));
  return !session.ended;
}
