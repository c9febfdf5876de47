import type { Model } from '../model/index.ts';
import type { Decision, TrialRequest } from '../proxy/index.ts';
import type { LogLevel } from '../telemetry/index.ts';

/** Fields of the model that dumps mask. */
export interface MaskedFields {
  /** Name of a policy → names of fields anywhere in its settings. */
  readonly settings: ReadonlyMap<string, ReadonlySet<string>>;
  /** Names of fields anywhere else. */
  readonly fields: ReadonlySet<string>;
}

/**
 * The views and actions of the operator's surfaces; the composition root fills it. All but `serving` return at
 * once.
 */
export interface AdminViews {
  /** The version of the program. */
  readonly version: string;
  readonly masked: MaskedFields;
  /**
   * Others than the operator write parts of the configuration, and may reach the readiness port: what went wrong with
   * the addresses that they named is for the admin port alone.
   */
  readonly isShared?: boolean;
  /** The model in use; undefined before the first one. */
  model(): Model | undefined;
  configState(): ConfigState;
  /** Asked of the processes that serve. Never rejects. */
  serving(): Promise<ServingState>;
  readiness(): Readiness;
  /** Absent where this process serves no requests. */
  readonly requests?: RequestViews;
  logLevel(): LogLevel;
  setLogLevel(level: LogLevel): void;
  /** Hears of each request that changes something, or tried to; absent: nothing is recorded. */
  acted?(act: AdminAct): void;
  /** Begins the same graceful end as SIGTERM. */
  drain(): void;
  /**
   * Has another program take the place of this one; absent where there is none that could.
   * @returns its process id
   * @throws Error saying why it did not work: then everything is as before
   */
  upgrade?(): Promise<number>;
}

/** A request to the admin port that is no mere reading. */
export interface AdminAct {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly status: number;
  readonly address: string | undefined;
  readonly port: number | undefined;
}

/** Requests that the gateway has served, and requests that an operator asks about. */
export interface RequestViews {
  /**
   * Gives the kept records of requests as JSON, then every further one.
   * @param filter CEL expression about a record
   * @returns what ends it
   * @throws Error for a filter that does not compile
   */
  follow(listener: (json: string) => void, filter: string | undefined): () => void;
  /** Explains a request by the configuration in use. @throws Error for a request that is none */
  why(request: TrialRequest): Promise<Decision>;
}

export interface ServingState {
  readonly keySets: readonly KeySetState[];
  readonly binds: readonly BindState[];
  /** Ports of the model that could not be bound. */
  readonly closedPorts: readonly { readonly port: number; readonly problem: string }[];
  readonly brokenRoutes: readonly BrokenRoute[];
  readonly certificates: readonly CertificateState[];
  /** Sessions and children of the MCP side, as plain data. */
  readonly mcp: unknown;
  /** Empty where the main process itself serves. */
  readonly workers: readonly WorkerState[];
}

export interface WorkerState {
  /** Counts from 1. */
  readonly worker: number;
  /** `waiting`: the last one ended too soon after its start, the next one is started in a while. */
  readonly state: 'starting' | 'serving' | 'waiting';
  readonly pid: number | undefined;
  /** The number of times that it was replaced. */
  readonly restarts: number;
}

/** Only `ready` takes new traffic. */
export type Readiness = 'starting' | 'ready' | 'draining';

export interface ConfigState {
  /** The file, or what stands for it. */
  readonly source: string;
  /** `Date.now()` of the last configuration that was taken into use. */
  readonly loadedAt: number | undefined;
  /** False when the newest configuration was refused and an older one runs. */
  readonly synchronized: boolean;
  /** The problems of the newest configuration, a line each; empty when it was taken. */
  readonly problems: readonly string[];
  /** Valid settings that are probably not meant. */
  readonly warnings: readonly string[];
  /** The state of the stream, if a controller is the source. */
  readonly stream?: StreamState;
}

/** The way from a controller; the same shape as the state in `stream`. */
export interface StreamState {
  /** `namespace/name` */
  readonly gateway: string;
  readonly connected: boolean;
  /** The present or last controller at the other end. */
  readonly controller: string | undefined;
  /** The version of the model in use, with its addresses. */
  readonly version: string | undefined;
  /** It was read from the cache at start, and no controller has confirmed it since. */
  readonly cached: boolean;
}

/** The state of a key set; the same shape as the views of `auth`. */
export interface KeySetState {
  readonly source: string;
  readonly keys: number;
  readonly state: 'waiting' | 'ready' | 'stale';
  readonly problem: string | undefined;
}

/** The state of a port of the data plane; the same shape as the views of `proxy`. */
export interface BindState {
  /** The bind's port in the model, with its place in the list where that is 0. */
  readonly key: string;
  /** The port in use. */
  readonly port: number;
  /** Open client connections. */
  readonly connections: number;
}

/** A route that answers 500 because it could not be prepared. */
export interface BrokenRoute {
  readonly route: string;
  readonly problem: string;
}

/** A certificate shown to clients; the same shape as the views of `proxy`. */
export interface CertificateState {
  /** Its file, or `inline`. */
  readonly certificate: string;
  /** `stale`: an older one is in use than its files hold; `broken`: there is none, connections are refused. */
  readonly state: 'ready' | 'stale' | 'broken';
  readonly problem: string | undefined;
  /** End of its lifetime, as `Date.now()` has it. */
  readonly expiresAt: number | undefined;
}
