import type { z } from 'zod';
import type { DecidedBy } from '../errors.ts';
import type { KeySets } from '../auth/index.ts';
import type {
  Head,
  HeaderEdits,
  HeaderLine,
  HttpRequest,
  Reply,
  RequestSigner,
  SentCredential,
} from '../http/index.ts';
import type { HttpBackend } from '../model/index.ts';
import type { CallTime, ItemCall, ItemRefusal, McpCheck, McpItem, ToolNames } from '../mcp/contract.ts';
import type { Logger } from '../telemetry/index.ts';
import type { CallCounter } from './mcpBudgets/callsInProgress.ts';

/**
 * The run-time part of a policy: the steps that it takes at fixed places of a request's life. Its name is that of its
 * row in `facts.ts`, which also gives its place among the others.
 */
export interface Policy<Settings = unknown> {
  /** The schema of its facts. The configuration is checked once, where it enters. */
  readonly schema: z.ZodType<Settings>;
  /** Runs once per snapshot. A throw closes the route (500), never opens it. */
  prepare(settings: Settings, tools: PolicyTools): Steps;
}

/** The tools that the process lends to policies. */
export interface PolicyTools {
  readonly log: Logger;
  readonly keySets: KeySets;
  /** Milliseconds since the epoch; tests inject their own. */
  readonly now: () => number;
  /** Names the place of the policy in the configuration: the same in every process, and after a reload. */
  readonly place: string;
  readonly tokens: TokenStore;
  /** Counts for all replicas; absent without a store that they share. */
  readonly globalTokens?: TokenStore;
  readonly hosts: Hosts;
  /** Counts for this process, over reloads; absent where no requests are served. */
  readonly callsInProgress?: CallCounter;
  /** Counts for all replicas; absent without a store that they share. */
  readonly globalCalls?: CallCounter;
  /** A secret for texts that clients carry: replicas with the same session key have it in common. */
  readonly sealingKey?: string;
  /** A tenant may have written the policy: see `KeySetSource`. */
  readonly guarded?: boolean;
  /** The namespace whose objects hold the policy; absent for a policy of a file. */
  readonly tenant?: string;
  /** Calls servers that the policy names; for a guarded policy, at no loopback, link-local or metadata address. */
  readonly fetch: typeof fetch;
}

/**
 * The hosts that policies call, such as a service that authorizes requests. For a guarded policy: by TLS or Services, and
 * at no loopback, link-local or metadata address.
 */
export interface Hosts {
  /**
   * Prepares calls to a host. Its connections are pooled and shared with backends of the same settings, over reloads too.
   * @throws Error when a file of its TLS settings cannot be used, or a guarded policy may not call the host
   */
  use(host: CalledHost): Host;
}

/** The address of a host, and the way to speak to it. */
export type CalledHost = Pick<
  HttpBackend,
  'host' | 'port' | 'tls' | 'http2' | 'addresses' | 'endpoints' | 'connections' | 'tcp'
>;

export interface Host {
  /**
   * Sends a request and reads the whole answer. The call ends without a result when the exchange ends first.
   * @param during the exchange that waits for the answer
   * @throws GatewayError upstream_timeout, upstream_too_large, or the reason why the host could not be asked
   */
  ask(call: HostCall, during: Pick<Exchange, 'onClose' | 'trial'>): Promise<HostAnswer>;
}

export interface HostCall {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  /** The `Host` field; the name of the host where absent. */
  readonly authority?: string;
  /** Names in lower case. The fields of the message itself (`host`, `content-length`, `connection`) are left out. */
  readonly headers: readonly HeaderLine[];
  readonly body?: Buffer;
  /** From the call to the end of the answer, in milliseconds. */
  readonly timeoutMs: number;
  /** Bytes of the answer's body. */
  readonly maxBodyBytes: number;
  /** The host may get the request twice, when a kept connection ends before a byte of the answer has come. */
  readonly repeatable: boolean;
  /** Hears the status as soon as it is known: the rest of the answer may never come. */
  readonly onStatus?: (status: number) => void;
}

export interface HostAnswer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: readonly HeaderLine[];
  readonly body: Buffer;
  /** Names in lower case; empty where there are none. gRPC has its status here. */
  readonly trailers: readonly HeaderLine[];
}

/** Keeps token buckets: in this process, or for several together. */
export interface TokenStore {
  /** Buckets of the same place and the same limit are the same ones, also after a reload. */
  open(place: string, limits: readonly TokenLimit[]): Draws;
}

export interface TokenLimit {
  readonly maxTokens: number;
  readonly tokensPerFill: number;
  /** Milliseconds. */
  readonly fillInterval: number;
  /** Buckets that are kept; the one that was not used for longest makes room. */
  readonly maxKeys: number;
  /** The source of the keys: the keys of another expression are other keys. */
  readonly key?: string | undefined;
  /** Refuses requests while the store of the buckets cannot be asked; otherwise this gateway counts. */
  readonly failureMode?: 'failClosed';
}

/** The limits of one policy. */
export interface Draws {
  /**
   * Takes a token for each limit, or none where one has none left.
   * @param keys of the buckets, one for each limit
   * @throws GatewayError rate_limit_unavailable, where another process keeps the buckets
   */
  draw(keys: readonly string[]): RateLimitState | Promise<RateLimitState>;
  close(): void;
}

/** The result, by the limit that has least left. */
export interface RateLimitState {
  readonly allowed: boolean;
  /** The capacity of its buckets. */
  readonly most: number;
  readonly left: number;
  /** Until its next filling. */
  readonly fillMs: number;
  /** The index of that limit; the first where absent. */
  readonly limit?: number;
}

/**
 * The plans for requests and answers while they are forwarded. Plans, not steps: the data plane carries them out,
 * and routes without a plan are forwarded by code that knows nothing of it.
 */
export interface Forwarding {
  readonly retry?: RetryPlan;
  readonly mirrors?: readonly MirrorPlan[];
  readonly buffer?: BufferPlan;
  readonly persistence?: PersistencePlan;
}

/** The way to recognise the requests of a session, and its lifetime. */
export interface PersistencePlan {
  /** The name of the cookie or header; undefined: a name that no other route has. */
  readonly name: string | undefined;
  /** Absent where a header carries the session. */
  readonly cookie: { readonly permanent: boolean; readonly sameSite: 'Lax' | 'Strict' } | undefined;
  readonly absoluteMs: number | undefined;
  readonly idleMs: number | undefined;
}

export interface RetryPlan {
  /** The first try included. */
  readonly attempts: number;
  readonly backoffMs: number;
  /** Larger bodies are not kept, so their requests are not repeated. */
  readonly maxBodyBytes: number;
  /** May this request be repeated at all? Asked before the first try. */
  applies(exchange: Exchange): boolean;
  /** May it be repeated where the backend may have acted on it without answering? */
  repeatable(exchange: Exchange): boolean;
  /** Is this answer a reason to try again? */
  wants(exchange: Exchange, answer: AnswerHead): boolean;
  /** Notes a first try. */
  noteRequest(): void;
  /** @returns false where there were too many repetitions lately */
  takeRetry(): boolean;
  /** Absent where a try is waited for before the next one is made. */
  readonly hedge?: HedgePlan;
}

/** Further tries while the first is still under way. */
export interface HedgePlan {
  /** Before the first further try, and between them. */
  readonly delayMs: number;
  /** At most so many beside the first. */
  readonly further: number;
  applies(exchange: Exchange): boolean;
  /** @returns false where there were too many repetitions lately */
  take(): boolean;
}

export interface AnswerHead {
  readonly status: number;
  lines(): readonly HeaderLine[];
}

/** A copy of requests goes there. */
export interface MirrorPlan {
  readonly host: string;
  readonly port: number;
  /** The share of the requests, from 0 to 1. */
  readonly share: number;
}

/** The head of a backend's answer. Names are in lower case. */
export type BackendHead = Pick<Head, 'get' | 'lines'>;

/** The parts that are gathered in memory before they are forwarded. */
export interface BufferPlan {
  readonly request?: BodyLimit;
  readonly response?: BodyLimit;
}

export interface BodyLimit {
  /** Undefined: the limit of the process for bodies in memory. */
  readonly maxBytes?: number;
  /** Larger bodies go on unbuffered instead of being refused. */
  readonly failOpen: boolean;
}

/** Steps that are left out cost nothing. A step that need not wait returns its value, not a promise. */
export interface Steps {
  /** The texts of a request that the policy reads as a credential, in every form in which they stand there; no log shows them. */
  credentials?(exchange: Exchange): readonly string[];
  /** Answer early, or carry on. Throwing answers with the catalogue's entry. */
  onRequest?(exchange: Exchange): Reply | undefined | Promise<Reply | undefined>;
  /**
   * Answers a request for a document that belongs to this route but lies outside its matches
   * (`/.well-known/<name>` + `resourcePath`); undefined where the policy has none of that name.
   */
  onWellKnown?(
    exchange: Exchange,
    name: string,
    resourcePath: string,
  ): Reply | undefined | Promise<Reply | undefined>;
  /** The address of the metadata by which a client logs in (RFC 9728). */
  readonly metadataUrl?: ((exchange: Exchange) => string) | undefined;
  /** Equal texts: the documents of `onWellKnown` without a resource path are equal, too. */
  readonly wellKnownKey?: string;
  /** The reason why this caller may not use the item, or without a call: not see it; undefined allows it. */
  refuseMcpItem?(exchange: Exchange, item: McpItem, call?: ItemCall): ItemRefusal | undefined;
  /** The scopes that the rules require of the request, or of a call. */
  neededScopes?(exchange: Exchange, named?: NamedCall): NeededScopes;
  /** Every scope that some rule requires: a client may ask for it at a login. */
  readonly ruleScopes?: readonly string[];
  /**
   * Counts a use of the item that the rules allow, before it goes to its server.
   * @returns what hears of the end of the use, if anything does
   * @throws GatewayError if the caller has used its share
   */
  countMcpCall?(
    exchange: Exchange,
    item: McpItem,
    call: ItemCall,
  ): (() => void) | undefined | Promise<(() => void) | undefined>;
  /** The time that a use of an item may take; undefined where the policy does not say. */
  mcpCallTime?(exchange: Exchange, item: McpItem, call: ItemCall): CallTime | undefined;
  /** The checks of the requests of a method, after the rules and before the servers get them; in order. */
  onMcpRequest?(exchange: Exchange, method: string): readonly McpCheck[];
  /** The checks of the results of a method, before the client gets them; in order. */
  onMcpResult?(exchange: Exchange, method: string): readonly McpCheck[];
  /** The names of tools and arguments in its rules. */
  readonly toolNames?: readonly ToolNames[];
  /** `refuseMcpItem` looks at nothing but the item and `Exchange.identity`. */
  readonly itemsByIdentity?: boolean;
  /** `onRequest` may return a promise: it asks another server first. */
  readonly waits?: true;
  /** `onRequest` replaces all credentials for the backend that are in the request. */
  readonly sendsCredentials?: true;
  /**
   * Watches whether the policy would still admit the caller of a response that lasts; calls `end` when it would not.
   * @returns a function that ends the watch
   */
  watchCaller?(exchange: Exchange, end: () => void): () => void;
  /**
   * Runs when the head of the answer is known, before it is written.
   * @param head the head as the backend wrote it; absent for an answer of the gateway itself
   */
  onResponse?(exchange: Exchange, status: number, head?: BackendHead): void;
  readonly forwarding?: Forwarding;
  /** The values of the rules for a request, or for one item; for people, not for a decision. */
  explain?(exchange: Exchange, item?: McpItem, call?: ItemCall): readonly RuleVerdict[];
  /**
   * The same steps, as they would be with another expression in one rule; for a request that is explained. They share
   * what these steps hold, and are never closed.
   * @param place below the policy, such as `.rules[0]`
   * @returns undefined where no rule has the place
   * @throws Error for an expression that the configuration could not have there
   */
  withRule?(place: string, expression: string): Omit<Steps, 'close'> | undefined;
  /** The reason why the policy cannot work right now, such as a missing file; undefined if it can. */
  problem?(): string | undefined;
  /** Runs when the snapshot retires. */
  close?(): void;
}

/** The caller, after a token was verified. */
export interface Identity {
  readonly issuer: string;
  /** Empty where the token has no `sub`. */
  readonly subject: string;
  readonly claims: Readonly<Record<string, unknown>>;
  /** Until when its token is accepted, leeway included, in milliseconds since the epoch; absent without an `exp`. */
  readonly acceptedUntil?: number;
}

/** The holder of the API key that a request carried. The key itself is not kept. */
export interface ApiKeyHolder {
  /** Tells one key from the others. It gives nothing of a random key away; a guessed key can be confirmed by it. */
  readonly id: string;
  readonly metadata: Readonly<Record<string, unknown>>;
}

/**
 * The `Host` that the backend gets: this one, the client's with another host or port, the backend's own name, or the
 * client's.
 */
export type HostRewrite =
  | { readonly kind: 'full'; readonly authority: string }
  | { readonly kind: 'host'; readonly host: string }
  | { readonly kind: 'port'; readonly port: number }
  | { readonly kind: 'auto' }
  | { readonly kind: 'none' };

/** By what the request came in, and what serves it, by name. */
export interface Passage {
  /** The port, as in metrics. */
  readonly bind: string;
  readonly listener: string;
  readonly gateway: { readonly name: string; readonly namespace?: string } | undefined;
  /** Undefined where no route was found. */
  readonly route:
    | { readonly name: string; readonly namespace?: string; readonly kind?: string; readonly rule?: string }
    | undefined;
}

/** The backend of the request. */
export interface ChosenBackend {
  readonly name: string;
  /** A host that is written down, or a service whose addresses somebody follows. */
  readonly type: 'static' | 'service';
  readonly protocol: 'http';
}

/** A request that is explained and not served: it leaves nothing behind. Steps throw NotEvaluated where they would. */
export interface Trial {
  /** The caller has a token with these claims, which nobody has signed. */
  readonly claims: Readonly<Record<string, unknown>> | undefined;
  /** The present step passes, though part of it was not evaluated. */
  note(what: string): void;
}

/** A rule of a policy and its value for a request. */
export interface RuleVerdict {
  /** Its name, or its effect and expression. */
  readonly rule: string;
  readonly effect: 'allow' | 'deny' | 'require' | 'scopes';
  /** The expression of a rule with a name, cut to a safe size. */
  readonly expression?: string;
  /** The scopes that it requires. */
  readonly scopes?: readonly string[];
  /** The place below its policy, such as `.rules[0]`; in a decision, the whole field path. */
  readonly place: string;
  /** `true`, `false`, `open` where only a call decides, or the reason why the evaluation failed. */
  readonly value: string;
  /** The claims of the caller that the rule reads, cut to a safe size. */
  readonly claims?: Readonly<Record<string, string>>;
}

/** A credential at its place in a request for a backend. */
export interface PlacedCredential {
  /** Replaces the text at the place, or removes it where there is no credential. */
  readonly put: (exchange: Exchange, credential: string | undefined) => void;
  readonly credential: string | undefined;
}

/** The first item that the body of a request names. */
export interface NamedCall {
  readonly item: McpItem;
  readonly call: ItemCall;
}

/** The scopes that the rules of a policy require, those that the caller has included. */
export interface NeededScopes {
  readonly scopes: readonly string[];
  /** A call may need other scopes than the request as a whole. */
  readonly dependOnItem: boolean;
  /** Another rule refuses the call, whatever scopes the caller has. */
  readonly isRefused: boolean;
}

/** A request in flight, as policies see it. */
export interface Exchange {
  readonly request: HttpRequest;
  readonly passage: Passage;
  /** The message is for an MCP server: it is made for the request of a client, and has a path of its own. */
  readonly forTarget?: true;
  /** Undefined for requests that are served. */
  readonly trial?: Trial | undefined;
  /** Undefined until a backend is chosen. */
  readonly chosen: ChosenBackend | undefined;
  /** Up to the (last) request to the backend, and from there to now, in milliseconds; undefined before it. */
  readonly timing: { readonly requestMs: number; readonly upstreamMs: number } | undefined;
  /** Set by authentication policies; absent for anonymous callers. */
  identity: Identity | undefined;
  /** The verified bearer token behind `identity`, to be sent on where the route says so; never for a log. */
  token: string | undefined;
  /** The `metadataUrl` of a policy of the route. Policies of the listener know it, too, although they run first. */
  readonly metadataUrl: Steps['metadataUrl'];
  /** Set by `basicAuth`. */
  user: string | undefined;
  /** Set by `apiKey`. */
  apiKey: ApiKeyHolder | undefined;
  /**
   * Reads the whole body. The request is forwarded with it as if nobody had.
   * @throws GatewayError body_too_large, bad_chunk, request_timeout; rejects when the client leaves
   */
  holdBody?(limitBytes: number): Promise<Buffer>;
  /**
   * The first item that the body names, if the request is a POST for an MCP backend. It reads the body.
   * @returns undefined for other requests; a promise rejects where the body cannot be read
   */
  namedItem?(): Promise<NamedCall | undefined> | undefined;
  /** The `neededScopes` of every policy of the route: a client wants to log in once for all of them. */
  readonly scopeRules?: readonly Required<Steps>['neededScopes'][] | undefined;
  /** The `ruleScopes` of every policy of the route and its backends. */
  readonly ruleScopes?: readonly string[] | undefined;
  /** The path prefix of the match that chose the route, without a slash at its end; undefined for other matches. */
  readonly matchedPrefix: string | undefined;
  /** The target for the backend, in origin form: the target of the request until a policy rewrites it. */
  forwardTarget: string;
  /** The target of the request without the credentials that policies took out of its query. */
  clientTarget: string;
  /** Absent where no policy says so: the backend then gets its own name or the client's `Host`, as it is configured. */
  forwardHost: HostRewrite | undefined;
  /** Changes to what is sent upstream. */
  readonly requestHeaders: HeaderEdits;
  /** Signs what is sent upstream. */
  signer?: RequestSigner | undefined;
  /** The credentials that `backendAuth` has put into the request. */
  credentials?: PlacedCredential[] | undefined;
  /** The texts of the path that policies have read as credentials; no log shows them. */
  pathCredentials?: string[] | undefined;
  /** Policies note the credentials that they send, before they ask for them; absent where nobody reads the notes. */
  readonly sentCredentials?: SentCredential[];
  /** Changes to whatever answer the client gets, errors included. */
  readonly responseHeaders: HeaderEdits;
  /** Other paths that a backend may read out of the path (`http/path.ts`). */
  readonly pathReadings: readonly string[];
  /** The rest of the work that the expressions of one request may take. */
  workLeft: number;
  /** Counts an expression that failed, and logs it now and then. The reason holds no value of the request. */
  expressionFailed?(by: DecidedBy, reason: string): void;
  /** Whole exchange, in milliseconds from now; ends it with 504. */
  limitRequest(ms: number): void;
  /** Limits a try of the backend, from the moment it is chosen; ends it with 504. */
  limitBackend(ms: number): void;
  /** Values that the services of extAuthz returned, by name; expressions read them as `extauthz`. */
  authorized?: Readonly<Record<string, unknown>> | undefined;
  /** Values that the services of mcpGuardrails returned, by name; for the access log. */
  guardrails?: Map<string, unknown> | undefined;
  /** Calls `listener` once when the exchange is over: the answer is complete, or the client has left. */
  onClose(listener: () => void): void;
  /** Resolves after so many milliseconds, or never where the exchange ends before. */
  wait(ms: number): Promise<void>;
}
