import { GatewayError } from '../../../errors.ts';
import type { StdioTarget } from '../../../model/index.ts';
import type { ChildEnvironment } from '../../contract.ts';
import type { Era } from '../../messages/eras.ts';
import type { TargetConnection } from '../kind/target.ts';
import type { TargetUse } from '../kind/targetRuntime.ts';
import { SharedChild } from './sharedChild.ts';
import { SharedConnection } from './sharedConnection.ts';
import { UserConnection } from './userConnection.ts';

export interface SharedChildrenOptions {
  /** The version of this program, for servers. */
  readonly version: string;
  /** The time that a child may be without a user, in milliseconds. */
  readonly idleMs: number;
  readonly now: () => number;
  readonly connect: (
    target: StdioTarget,
    child: SharedChild,
    environment: ChildEnvironment | undefined,
  ) => TargetConnection;
  /** A session changes over to another child, because the values of its caller have changed. */
  readonly onReplaced: (target: string) => void;
}

interface Entry {
  readonly backendKey: string;
  /** The settings of the child. */
  readonly settings: string;
  readonly child: SharedChild;
}

interface NewestChild {
  readonly backendKey: string;
  readonly serverEra: Era;
  readonly child: SharedChild;
}

/** The owner and the values of a child. */
interface ChildFor {
  readonly holder: string;
  /** Undefined: all callers of the backend. */
  readonly principal?: string;
  readonly environment?: ChildEnvironment | undefined;
}

/**
 * The children that several sessions use. `scope: shared` has one for each target of a backend, `scope: user` one for
 * each principal and each set of its values beside. Each era that a child is spoken to in has a child of its own.
 */
export class SharedChildren {
  private readonly options: SharedChildrenOptions;
  private readonly entries = new Map<string, Entry>();
  /** The newest child for all callers of a target: sessions of one request ask for it again and again. */
  private readonly newest = new WeakMap<StdioTarget, NewestChild>();
  /** The target with which the last session of any user began, by its backend and its name. */
  private readonly current = new Map<string, { readonly backendKey: string; readonly target: StdioTarget }>();

  constructor(options: SharedChildrenOptions) {
    this.options = options;
  }

  connect(target: StdioTarget, use: TargetUse): TargetConnection {
    const { session } = use;
    const holder = `shared program of ${target.name}`;
    return new SharedConnection(this.childOf(target, use, { holder }), (connection) => ({
      // It ends with its request.
      isIdle: () => false,
      onMessage: (message) => session.onMessage(connection, message),
      onDown: () => session.onDown(connection),
      onRefused: (opening) => session.onRefused?.(connection, opening),
    }));
  }

  /** @throws GatewayError where the caller has no proven identity, or not the values of the target */
  connectUser(target: StdioTarget, use: TargetUse): TargetConnection {
    const { session } = use;
    const { principal, holder } = session;
    // It knows whether a login helps a caller without an identity.
    const values = use.environment();
    if (principal === undefined) throw new GatewayError('mcp_user_denied');
    const key = JSON.stringify([session.backendKey, target.name]);
    this.current.set(key, { backendKey: session.backendKey, target });
    // After a reload, older sessions of the user go on with the child of the newer ones.
    const targetNow = (): StdioTarget => this.current.get(key)?.target ?? target;
    return new UserConnection({
      name: target.name,
      session,
      environment: values,
      childFor: (environment) => this.childOf(targetNow(), use, { holder, principal, environment }),
      onReplaced: () => this.options.onReplaced(target.name),
      resume: target.resume !== false,
    });
  }

  private childOf(target: StdioTarget, use: TargetUse, owner: ChildFor): SharedChild {
    const { session, serverEra = 'legacy' } = use;
    const { backendKey } = session;
    const { principal, environment } = owner;
    const isForAll = principal === undefined && environment === undefined;
    const newest = isForAll ? this.newest.get(target) : undefined;
    if (newest?.backendKey === backendKey && newest.serverEra === serverEra && !newest.child.isEnding)
      return newest.child;
    const child = this.childAt(target, backendKey, serverEra, owner);
    if (isForAll) this.newest.set(target, { backendKey, serverEra, child });
    return child;
  }

  private childAt(target: StdioTarget, backendKey: string, serverEra: Era, owner: ChildFor): SharedChild {
    const { principal, environment } = owner;
    const place = JSON.stringify([backendKey, target.name, serverEra, principal, environment?.digest]);
    // The place in the file may change without the settings.
    const settings = JSON.stringify(target, (key, value: unknown) => (key === 'place' ? undefined : value));
    const found = this.entries.get(place);
    if (found?.settings === settings && !found.child.isEnding) return found.child;
    this.entries.delete(place);
    found?.child.replace();
    const child = this.newChild(target, place, owner);
    this.entries.set(place, { backendKey, settings, child });
    return child;
  }

  private newChild(
    target: StdioTarget,
    place: string,
    { holder, principal, environment }: ChildFor,
  ): SharedChild {
    const { version, idleMs, now, connect } = this.options;
    return new SharedChild({
      name: target.name,
      holder,
      ofOnePrincipal: principal !== undefined,
      expiresAt: environment?.expiresAt,
      version,
      idleMs,
      now,
      connect: (child) => connect(target, child, environment),
      onEnd: (child) => {
        if (this.entries.get(place)?.child === child) this.entries.delete(place);
      },
    });
  }

  /** After a reload: ends the children of backends whose key is not in the set, when nobody uses them any more. */
  retire(liveKeys: ReadonlySet<string>): void {
    for (const [key, { backendKey }] of this.current) if (!liveKeys.has(backendKey)) this.current.delete(key);
    for (const [place, { backendKey, child }] of [...this.entries]) {
      if (liveKeys.has(backendKey)) continue;
      this.entries.delete(place);
      child.retire();
    }
  }

  /** The gateway ends: a child that was only stopped would be restarted like one that failed. */
  close(graceMs: number): void {
    for (const { child } of [...this.entries.values()]) child.end(graceMs);
  }
}
