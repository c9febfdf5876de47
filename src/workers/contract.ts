import type { KeySetView } from '../auth/contract.ts';
import type { McpView } from '../mcp/index.ts';
import type { AddressLists, Model } from '../model/index.ts';
import type { PolicyLogin, RuleDecision } from '../policies/index.ts';
import type {
  BindView,
  DataPlane,
  Decision,
  ExpressionResult,
  ExpressionTrial,
  OwnConnection,
  TrialRequest,
} from '../proxy/index.ts';
import type { LogLevel, MetricsSnapshot } from '../telemetry/index.ts';
import type { PlaneInheritance } from './inheritance.ts';

/** Secrets that no child process may inherit, and no log may show. */
export interface Secrets {
  /** Names of environment variables. */
  readonly variables: readonly string[];
  readonly values: readonly string[];
}

/** Records of finished requests, as JSON: of refusals and errors, and of all requests while somebody listens. */
export interface RequestFeed {
  /**
   * Gives the records that are kept, then every further one.
   * @param filter CEL expression about a record; every record where absent
   * @returns what ends it
   * @throws Error for a filter that does not compile
   */
  follow(listener: (json: string) => void, filter?: string): () => void;
}

/**
 * The serving part of a gateway: this process, or a tree of processes. Models go in, traffic is served, views
 * come out.
 */
export interface Plane {
  /** Ports in use. */
  readonly ports: readonly PortView[];
  /** False while nobody could take a connection. */
  readonly serving: boolean;
  /**
   * Takes a model into use, the first one as every other. Models come one after the other.
   * @throws Error when that fails; the model before it stays in use then, everywhere. WorkerEndedError where the same model may
   *   fare better another time
   */
  apply(model: Model): Promise<void>;
  /** Adds secrets to those of the start: these of every configuration since then count. */
  keepSecret(secrets: Secrets): void;
  /**
   * Lists of addresses have changed since the last model, and nothing else. Like a model, not while another one is taken
   * into use.
   * @param model with these lists filled in
   */
  useAddresses(model: Model, lists: AddressLists): Promise<void>;
  /** Never rejects: what a process does not say in time is left out. */
  view(): Promise<PlaneView>;
  /** All metrics in the Prometheus text format. */
  expose(): Promise<string>;
  /** The same as data. */
  counts(): Promise<MetricsSnapshot>;
  setLogLevel(level: LogLevel): void;
  /** Ends an MCP session for good. @returns false where no session has the label */
  endSession(label: string): Promise<boolean>;
  /**
   * The last lines of the audit stream of the processes that serve, as JSON, the oldest first. Never rejects: lines of a
   * process that does not answer in time are left out.
   */
  auditLines(): Promise<readonly string[]>;
  /** The last records of requests, and those that follow. */
  readonly requests: RequestFeed;
  /** Explains a request by the model in use. @throws Error for a request that is none */
  why(request: TrialRequest): Promise<Decision>;
  /** Tries an expression by the model in use. @throws Error for a request that is none */
  evaluate(trial: ExpressionTrial): Promise<ExpressionResult>;
  /**
   * Opens a way for one connection of this gateway to itself. It is served as that of a client on this machine.
   * @returns the path of a socket that only this user can reach; it is gone after the connection, or some seconds
   * @throws Error where nothing serves
   */
  entrance(request: EntranceRequest): Promise<string>;
  /**
   * The state that another program needs to serve on the same ports; this one goes on all the same.
   * @throws Error where there is nothing that can be handed over, and why
   */
  handOver(): PlaneInheritance;
  /**
   * Takes no more connections; resolves when the last request has its answer.
   * @param patienceMs where another program serves on the same ports already: idle connections get so long to bring a
   *   last request, whose answer tells the client to come back, before they are ended
   * @param followed that program has been given our keys: sessions that it can go on with are left to it
   */
  drain(patienceMs?: number, followed?: boolean): Promise<void>;
  /** Ends everything; MCP servers get `graceMs` milliseconds to leave. Resolves (never rejects) when nothing is left. */
  close(graceMs: number): Promise<void>;
}

/** A connection of this gateway to itself. */
export interface EntranceRequest {
  /** The key of the bind. */
  readonly bind: string;
  /** The connection stands for one under TLS, to this listener. */
  readonly tls?: OwnConnection['tls'];
}

export interface PortView {
  /** The key of the bind: its port in the model, with its place in the list if the port is 0. */
  readonly key: string;
  readonly port: number;
}

/** The visible state, as plain data. */
export interface PlaneView {
  readonly binds: readonly BindView[];
  /** Ports of the model that could not be bound. */
  readonly closedPorts: DataPlane['closedPorts'];
  readonly brokenRoutes: DataPlane['broken'];
  readonly certificates: DataPlane['certificates'];
  readonly keySets: readonly KeySetView[];
  readonly mcp: {
    readonly sessions: readonly (McpView['sessions'][number] & {
      /** The worker that holds the session; absent where there is no process but this one. */
      readonly worker?: number;
    })[];
    readonly children: number;
    /** Items that no client can reach, because an item of another target has their name. */
    readonly hidden: McpView['hidden'];
    /** Targets that new sessions do not try for a while, for some caller. */
    readonly circuits: McpView['circuits'];
    /** Targets whose last start failed, in some worker. */
    readonly failedStarts: McpView['failedStarts'];
  };
  /** Empty where there is no process but this one. */
  readonly workers: readonly WorkerView[];
}

/** A route as a client sees it. */
export interface RouteView {
  /** `bind/listener/route` */
  readonly id: string;
  readonly bind: string;
  /** The port in use; undefined where it is closed. */
  readonly port: number | undefined;
  readonly listener: string;
  /** Host names of the route, or else of its listener. */
  readonly hostnames: readonly string[];
  /** The path of the first match that is no regular expression. */
  readonly path: string | undefined;
  readonly kind: 'mcp' | 'http' | 'tcp';
  readonly targets: readonly { readonly name: string; readonly kind: string }[];
  /** Keys of the backends, as sessions have them. */
  readonly backends: readonly string[];
  /** The credential that it asks callers for. */
  readonly authentication: PolicyLogin | undefined;
  /** Addresses for a client on this machine. */
  readonly urls: readonly string[];
}

/** An authorization rule in use. */
export interface RuleView extends Omit<RuleDecision, 'rule' | 'below'> {
  readonly bind: string;
  readonly listener: string;
  /** Absent for a rule of the listener. */
  readonly route?: { readonly id: string; readonly name: string };
  readonly policy: string;
  /** Field path of the rule, as decisions have it. */
  readonly place: string;
  /** File and line of its policy. */
  readonly file: string;
  readonly line: number;
}

export interface WorkerView {
  /** Counts from 1. */
  readonly worker: number;
  readonly state: WorkerState;
  readonly pid: number | undefined;
  readonly restarts: number;
}

/** `waiting`: the last one ended too soon after its start, the next one is started in a while. */
export type WorkerState = 'starting' | 'serving' | 'waiting';
