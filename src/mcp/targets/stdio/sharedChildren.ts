import type { StdioTarget } from '../../../model/index.ts';
import type { TargetConnection } from '../kind/target.ts';
import type { TargetUse } from '../kind/targetRuntime.ts';
import { SharedChild } from './sharedChild.ts';
import { SharedConnection } from './sharedConnection.ts';

export interface SharedChildrenOptions {
  /** The version of this program, for servers. */
  readonly version: string;
  /** The time that a child may be without a user, in milliseconds. */
  readonly idleMs: number;
  readonly now: () => number;
  readonly connect: (target: StdioTarget, child: SharedChild) => TargetConnection;
}

interface Entry {
  readonly backendKey: string;
  /** The settings of the child. */
  readonly settings: string;
  readonly child: SharedChild;
}

/** The children of targets with `scope: shared`: one for each target of a backend, and for each era it is spoken to in. */
export class SharedChildren {
  private readonly options: SharedChildrenOptions;
  private readonly entries = new Map<string, Entry>();

  constructor(options: SharedChildrenOptions) {
    this.options = options;
  }

  connect(target: StdioTarget, { session, serverEra = 'legacy' }: TargetUse): TargetConnection {
    const { backendKey } = session;
    const place = JSON.stringify([backendKey, target.name, serverEra]);
    const settings = JSON.stringify(target);
    const found = this.entries.get(place);
    if (found?.settings === settings) return new SharedConnection(found.child, session);
    this.entries.delete(place);
    found?.child.retire();
    const child = this.newChild(target, place);
    this.entries.set(place, { backendKey, settings, child });
    return new SharedConnection(child, session);
  }

  private newChild(target: StdioTarget, place: string): SharedChild {
    const { version, idleMs, now, connect } = this.options;
    return new SharedChild({
      name: target.name,
      version,
      idleMs,
      now,
      connect: (child) => connect(target, child),
      onEnd: (child) => {
        if (this.entries.get(place)?.child === child) this.entries.delete(place);
      },
    });
  }

  /** After a reload: ends the children of backends whose key is not in the set, when nobody uses them any more. */
  retire(liveKeys: ReadonlySet<string>): void {
    for (const [place, { backendKey, child }] of [...this.entries]) {
      if (liveKeys.has(backendKey)) continue;
      this.entries.delete(place);
      child.retire();
    }
  }
}
