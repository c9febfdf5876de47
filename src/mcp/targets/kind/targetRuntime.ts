/** The run-time part of a kind of MCP target. */

import type { Limits, McpTarget } from '../../../model/index.ts';
import type { Logger, Metrics } from '../../../telemetry/index.ts';
import type { ChildEnvironment, Reach } from '../../contract.ts';
import type { Budget, Evictable } from '../../limits/budget.ts';
import type { RetainedMemory } from '../../limits/retainedMemory.ts';
import type { Era } from '../../messages/eras.ts';
import type { TargetConnection, TargetListener, TargetPlace } from './target.ts';

/** The delays for a server that keeps dying: short, then ever longer, then no restart until a client asks again. */
export interface RestartPolicy {
  /** Wait before the first restart; doubled for each further failure in the window. */
  readonly firstDelayMs: number;
  readonly maxDelayMs: number;
  /** This many failures within the window, and it is given up. */
  readonly maxFailures: number;
  readonly windowMs: number;
  /** After giving up, calls fail at once for so long; then the next one tries again. */
  readonly coolDownMs: number;
}

/** The services of a process that all its connections to targets share. */
export interface TargetServices {
  readonly limits: () => Limits;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly now: () => number;
  readonly restart: RestartPolicy;
  /** The right to have child processes. */
  readonly children: Budget;
  /** Names of environment variables that child processes never inherit; may grow. */
  readonly secrets: ReadonlySet<string>;
  /** Hears of every process group, by the id of its leader: when it is there, and when nothing is left of it. */
  readonly onGroup?: (leader: number, alive: boolean) => void;
  /** The version of this program, for servers whose client is the gateway itself. */
  readonly version: string;
  /** The time after which the gateway stops a child that nobody uses, in milliseconds. */
  readonly idleMs: number;
  /** A child of a target of this name was replaced, because a value in its environment has changed. */
  readonly onReplaced: (target: string) => void;
  /** The server behind a target of this name was started again. */
  readonly onRestart: (target: string) => void;
  /** A server behind a target of this name was started again, and that failed. */
  readonly onRestartFailed: (target: string) => void;
  /** The child of a target of this name was taken to make room for another session. */
  readonly onTaken: (target: string) => void;
}

/** The activity of the session that uses the child. */
export interface Tenant extends Evictable {
  /** It has had neither stream nor call for the grace. */
  readonly idle: boolean;
}

/** The session that a connection to a target is for. */
export interface TargetSession extends TargetListener, Tenant {
  /** Names the backend of the session. */
  readonly backendKey: string;
  /** The owner of the session; undefined for anonymous callers. */
  readonly principal: string | undefined;
  /** Counts what is remembered for a server that must be told again. */
  readonly keep: RetainedMemory;
  /** Another process has begun the session. */
  readonly resumed: boolean;
  /** Other processes may hold the session as well. */
  readonly shared: boolean;
  /** It must hear of changed lists also while no client listens: it keeps lists, or tells its client later. */
  readonly hearsOfLists: boolean;
  /** The era of the client of the session. */
  readonly era: Era;
}

/** The options of every connection that restores its session by itself. */
export interface ConnectionOptions {
  readonly restart: RestartPolicy;
  readonly limits: () => Limits;
  readonly log: Logger;
  readonly listener: TargetListener;
  /** Counts what is remembered for a server that must be told again. */
  readonly keep: RetainedMemory;
  readonly now: () => number;
  readonly onRestart: (target: string) => void;
  readonly onRestartFailed: (target: string) => void;
}

/** The use of a target by one session. */
export interface TargetUse {
  readonly session: TargetSession;
  readonly log: Logger;
  /** The era in which the connection speaks with the server; absent: legacy. */
  readonly serverEra?: Era;
  /** The way in which the target is reached for the caller. @throws GatewayError policy_failed */
  readonly reach: () => Reach;
  /** The values of the caller for a child process; undefined where it has none. @throws GatewayError */
  readonly environment: () => ChildEnvironment | undefined;
}

/** A connection that continues a session of another process; the promise rejects where the server does not know it. */
export interface TakenUp {
  readonly connection: TargetConnection;
  readonly ready: Promise<void>;
}

/** The connections of one process to all targets of a kind. */
export interface TargetRuntime<Target extends McpTarget> {
  readonly connect: (target: Target, use: TargetUse) => TargetConnection;
  /** Continues a session of another process. */
  readonly takeUp?: (target: Target, use: TargetUse, place: TargetPlace) => TakenUp;
  /** After a reload: lets go of what belongs to backends whose key is not in the set. */
  readonly retire?: (liveKeys: ReadonlySet<string>) => void;
  /** Child processes, those on their way out included; absent: the kind has none. */
  readonly children?: () => number;
  /** Resolves (never rejects) when nothing is left that connections do not end by themselves. */
  readonly close?: (graceMs: number) => Promise<void>;
}

/** The run-time part of a kind whose sessions another process can continue. */
export type ResumableRuntime<Target extends McpTarget> = TargetRuntime<Target> &
  Required<Pick<TargetRuntime<Target>, 'takeUp'>>;
