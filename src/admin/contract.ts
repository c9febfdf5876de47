import type { Model } from '../model/index.ts';
import type { Decision, ExpressionResult, ExpressionTrial, TrialRequest } from '../proxy/index.ts';
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
  /** Absent where this process serves no requests. */
  readonly gateway?: GatewayViews;
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
  /** The role and the proof of the caller; undefined where it proved nothing. */
  readonly user: string | undefined;
}

/** The parts of a gateway that serves, for the API. */
export interface GatewayViews {
  /** `Date.now()` of the start of the process. */
  readonly startedAt: number;
  /** Never rejects. */
  rates(): Promise<Rates>;
  /** Rates of the last minutes, the oldest first. */
  rateHistory(): readonly RateSample[];
  routes(): readonly RouteView[];
  /** The authorization rules in use. */
  rules(): readonly RuleView[];
  /** The names that an expression about a request may use. */
  expressionWords(): ExpressionWords;
  /** Ends an MCP session for good. @returns false where no session has the label */
  endSession(label: string): Promise<boolean>;
  /**
   * The last lines of the audit stream as JSON, the oldest first.
   * @returns undefined where no stream is configured
   */
  auditLines(limit: number): Promise<readonly string[] | undefined>;
  readonly config: ConfigViews;
  /**
   * Sends a request into the data plane, as a client on this machine would.
   * @param signal ends the request, and the body of its response
   * @throws Error where the data plane gives no response
   */
  play(request: PlayRequest, signal: AbortSignal): Promise<PlayedRequest | PlayRefusal>;
  readonly logins: LoginViews;
}

/** A request of the operator for a route of the configuration. */
export interface PlayRequest {
  /** Id of the route. */
  readonly route: string;
  readonly method: string;
  /** With the query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

export interface PlayedRequest {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly requestId: string;
  /** Fails where the data plane cuts it off. */
  readonly body: AsyncIterable<Buffer>;
}

/** The reason why a request was not sent, with the HTTP status for it. */
export interface PlayRefusal {
  readonly refusal: string;
  readonly status: number;
}

/** The logins of the playground: the gateway is an OAuth client towards the issuers of a route. */
export interface LoginViews {
  /** Takes all steps up to the page of the issuer. Never rejects. */
  begin(request: LoginRequest): Promise<BegunLogin | PlayRefusal>;
  /** Takes the parameters with which the issuer sent the browser back. @returns false for an unknown login */
  returned(query: string): boolean;
  /** @returns undefined where the owner has no such login */
  stateOf(id: string, owner: string): LoginState | undefined;
  /**
   * Exchanges the code for a token, which ends the login.
   * @returns undefined where the owner has no such login
   */
  redeem(id: string, owner: string): Promise<LoginToken | PlayRefusal | undefined>;
  /** @returns false where the owner has no such login */
  end(id: string, owner: string): boolean;
}

export interface LoginRequest {
  /** Id of the route. */
  readonly route: string;
  /** The caller; nobody else sees the login. */
  readonly owner: string;
  /** The address of the callback, as the browser reaches it. */
  readonly redirectUri: string;
  /** An issuer of the route; undefined chooses the first one. */
  readonly issuer?: string;
  /** A client that the issuer knows; the gateway registers one unless given. */
  readonly clientId?: string;
  readonly clientSecret?: string;
  /** Scopes to ask for; undefined asks for those of the route. */
  readonly scopes?: readonly string[];
}

/** A step of a login, for people. It holds no secret. */
export interface LoginStep {
  readonly step: 'resource' | 'server' | 'client' | 'authorization';
  /** The address that was asked; absent where nothing was sent. */
  readonly url?: string;
  readonly value?: Readonly<Record<string, unknown>>;
  /** A fault that does not end the login. */
  readonly warning?: string;
  /** The fault that ended the login. */
  readonly problem?: string;
}

export interface BegunLogin {
  readonly steps: readonly LoginStep[];
  /** Absent where a step failed. */
  readonly login?: { readonly id: string; readonly authorizeUrl: string; readonly expiresAt: number };
}

/** `waiting`: the browser has not come back yet. */
export type LoginState = 'waiting' | 'returned';

export interface LoginToken {
  readonly accessToken: string;
  /** Seconds; absent where the issuer did not say. */
  readonly expiresIn?: number;
  readonly scope?: string;
  /** The issuer gave a refresh token, which the gateway dropped. */
  readonly hasRefreshToken: boolean;
}

/** The configuration as it is written. */
export interface ConfigViews {
  /** @throws Error where it cannot be read */
  read(): ConfigText;
  /** The reason why the API may not write it; undefined where it may. */
  whyReadOnly(): string | undefined;
  /** The text without its secrets; undefined where it is no YAML, whose secrets have no place. */
  masked(document: ConfigText): string | undefined;
  /**
   * The text in use as a tree; undefined where there is none.
   * @param hidesArguments of command lines, as for a caller who does not get the text
   * @throws Error where the text cannot be read
   */
  tree(hidesArguments: boolean): readonly EffectiveField[] | undefined;
  /** @throws Error where the check itself fails */
  check(text: string): Promise<ConfigCheck>;
  /**
   * Replaces the text of the file, whatever its problems are.
   * @param etag that of the text which the writer has read
   * @returns the new entity tag; undefined where another text is there by now
   * @throws Error where the file cannot be written
   */
  write(text: string, etag: string): string | undefined;
  /** The JSON Schema. */
  schema(): string;
}

/** A field of the configuration with the origin of its value; the same shape as in `config`. */
export interface EffectiveField {
  readonly name: string;
  /** Absent for maps and lists. */
  readonly value?: string | number | boolean | null;
  readonly fields?: readonly EffectiveField[];
  readonly from: 'file' | 'variable' | 'flag' | 'default';
  /** The variables or the flag. */
  readonly by?: string;
  /** `config.yaml:8:7`; absent where the file does not have the field. */
  readonly place?: string;
}

/** The result of checking a text as if it were the configuration. */
export interface ConfigCheck {
  /** Empty where the text may come into use. */
  readonly problems: readonly ConfigProblem[];
  readonly warnings: readonly ConfigProblem[];
  /** Undefined where there are problems, or no model is in use. */
  readonly changes: ConfigChanges | undefined;
}

/** A fault of a configuration; `line` and `column` count from 1. */
export interface ConfigProblem {
  readonly message: string;
  /** Field path; empty for the text as a whole. */
  readonly path: string;
  readonly line?: number;
  readonly column?: number;
  readonly hint?: string;
}

/** The changes that a configuration brings. */
export interface ConfigChanges {
  /** By their ids. */
  readonly routes: {
    readonly added: readonly string[];
    readonly removed: readonly string[];
    readonly changed: readonly string[];
  };
  readonly sessionsEnded: number;
  readonly childrenStopped: number;
  /** Settings change that the gateway reads at its start only. */
  readonly needsRestart: boolean;
}

export interface ConfigText {
  readonly text: string;
  /** Changes with the text: an entity tag in its quotes. */
  readonly etag: string;
}

/** Totals since the start, and the duration of recent requests in milliseconds; null where there were none. */
export interface Rates {
  readonly requests: number;
  /** Requests answered with 401, 403 or 429. */
  readonly refusals: number;
  /** Requests answered with 500 or more. */
  readonly errors: number;
  readonly mcpCalls: number;
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
}

/** Requests a second and their durations in a short time that ends at `at`, in milliseconds since the epoch. */
export interface RateSample {
  readonly at: number;
  readonly requests: number;
  readonly refusals: number;
  readonly errors: number;
  /** Null where no request ended. */
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
}

/** A route as a client sees it. */
export interface RouteView {
  /** `bind/listener/route` */
  readonly id: string;
  readonly bind: string;
  /** The port in use; undefined where it is closed. */
  readonly port: number | undefined;
  readonly listener: string;
  readonly hostnames: readonly string[];
  /** The path of the first match; undefined for TCP. */
  readonly path: string | undefined;
  readonly kind: 'mcp' | 'http' | 'tcp';
  readonly targets: readonly { readonly name: string; readonly kind: string }[];
  /** Keys of the backends, as sessions have them. */
  readonly backends: readonly string[];
  readonly authentication: RouteLogin | undefined;
  /** Addresses for a client on this machine. */
  readonly urls: readonly string[];
}

/** An authorization rule in use, with what it decides. */
export interface RuleView {
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
  readonly name?: string;
  readonly effect: 'allow' | 'deny' | 'require' | 'scopes';
  readonly expression: string;
  readonly decides: 'lists and calls' | 'calls' | 'whole requests';
  /** The variables of a call that it reads. */
  readonly reads: readonly string[];
  /** The scopes that it requires. */
  readonly scopes: readonly string[];
}

/** The variables and functions of expressions, for editors. */
export interface ExpressionWords {
  /** Dotted names, such as `mcp.tool.name`. */
  readonly variables: readonly { readonly name: string; readonly type: string }[];
  readonly functions: readonly {
    readonly name: string;
    readonly kind: 'function' | 'macro';
    /** Types of values that have it as a method; absent where it is no method. */
    readonly on?: readonly string[];
    readonly signatures: readonly string[];
  }[];
}

/** The credential that a route asks for. */
export interface RouteLogin {
  /** The policy, such as `mcpAuthentication`. */
  readonly kind: string;
  /** Requests carry a token of one of the issuers. */
  readonly byToken: boolean;
  readonly issuers: readonly string[];
  readonly audiences: readonly string[];
  /** Scopes that the metadata of the route names. */
  readonly clientScopes: readonly string[];
  readonly credential: 'token' | 'password' | 'key';
  /** The metadata of the route tells MCP clients where to log in. */
  readonly guidesClients: boolean;
  /** The header of the credential and the text before it; absent where it stands in another place. */
  readonly header?: { readonly name: string; readonly prefix: string };
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
  /** Tries an expression by the configuration in use. @throws Error for a request that is none */
  evaluate(trial: ExpressionTrial): Promise<ExpressionResult>;
}

export interface ServingState {
  readonly keySets: readonly KeySetState[];
  readonly binds: readonly BindState[];
  /** Ports of the model that could not be bound. */
  readonly closedPorts: readonly { readonly port: number; readonly problem: string }[];
  readonly brokenRoutes: readonly BrokenRoute[];
  readonly certificates: readonly CertificateState[];
  /** Sessions and children of the MCP side; undefined where this process serves no requests. */
  readonly mcp: McpState | undefined;
  /** Empty where the main process itself serves. */
  readonly workers: readonly WorkerState[];
}

/** The same shape as the views of `mcp`; the dump shows all of it. */
export interface McpState {
  readonly sessions: readonly McpSessionState[];
  readonly children: number;
  /** Items that no client can reach, because an item of another target has their name. */
  readonly hidden: readonly McpHiddenItem[];
  /** Targets that new sessions do not try for a while. */
  readonly circuits: readonly McpCircuit[];
  /** Targets whose last start failed. */
  readonly failedStarts: readonly McpFailedStart[];
}

/** A target by the key of its backend and its name. */
interface McpTargetPlace {
  readonly backend: string;
  readonly target: string;
}

export interface McpHiddenItem extends McpTargetPlace {
  readonly kind: string;
  readonly name: string;
  /** The target that owns the name. */
  readonly owner: string;
}

/** Times in milliseconds since the epoch. */
export interface McpCircuit extends McpTargetPlace {
  readonly retryAt: number;
  readonly reason: string;
}

export interface McpFailedStart extends McpTargetPlace {
  readonly at: number;
  readonly reason: string;
  /** The last lines that a child wrote to its standard error. */
  readonly stderr: readonly string[];
}

/** An MCP session; times in milliseconds since the epoch. */
export interface McpSessionState {
  readonly label: string;
  /** Key of the backend. */
  readonly backend: string;
  readonly principal: string | undefined;
  readonly client?: { readonly name: string; readonly version: string } | undefined;
  readonly protocolVersion: string | undefined;
  readonly createdAt: number;
  readonly lastUsedAt: number;
  readonly targets: readonly McpTargetState[];
  /** The process that holds the session; absent where there is only one. */
  readonly worker?: number;
}

/** The connection of a session to one of its servers. */
export interface McpTargetState {
  readonly name: string;
  readonly state: string;
  /** The last change of the state, in milliseconds since the epoch. */
  readonly since?: number;
  readonly pid: number | undefined;
  readonly restarts: number;
  readonly lastError: string | undefined;
  /** The last lines that a child wrote to its standard error. */
  readonly stderr?: readonly string[];
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
  /** `Date.now()` of the last configuration that was taken into use or refused; each attempt has its own. */
  readonly triedAt: number | undefined;
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
  /** `Date.now()` of the last time that it was read; absent before. */
  readonly loadedAt?: number;
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
