/**
 * The desired state of the gateway, as plain readonly data that survives JSON. Sources produce it,
 * `proxy/snapshot/snapshot.ts` compiles it. Nothing here has behaviour.
 */

import type { ApiSource } from './describedApi.ts';

/** The place where a piece of the model was written: `line` and `column` count from 1. */
export interface Place {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  /** Field path, such as `binds[0].listeners[0].routes[1]`. */
  readonly path: string;
}

export interface Model {
  readonly process: ProcessSettings;
  readonly binds: readonly Bind[];
}

export interface Bind {
  /** 0 asks the system for any free port. */
  readonly port: number;
  /** The only address it is open on; every address of the machine where absent. */
  readonly address?: string;
  /** Connections begin with a line or block of a proxy in front that says who the client is; absent: they do not. */
  readonly proxyProtocol?: ProxyProtocol;
  /** A port that cannot be bound stays closed, and the rest of the model comes into use; absent: the model is refused. */
  readonly optional?: true;
  /** The reason why another process of this gateway could not bind it, so that it stays closed. */
  readonly closed?: string;
  /**
   * Told apart by the server name of TLS and by whether TLS is spoken at all; so one of protocol TCP is alone, but for
   * those of UDP: that is another port of the system, with the same number.
   */
  readonly listeners: readonly Listener[];
}

/** The PROXY protocol of haproxy. */
export interface ProxyProtocol {
  readonly version: 'v1' | 'v2' | 'all';
  /** `optional`: connections without it are taken, too. */
  readonly mode: 'strict' | 'optional';
}

export type Listener = HttpListener | TcpListener | UdpListener;

export interface HttpListener {
  /** Unique within the bind. */
  readonly name: string;
  /** Exact (`api.example.com`), wildcard (`*.example.com`), or absent for every host. Lower case. */
  readonly hostname?: string;
  readonly protocol: 'HTTP' | 'HTTPS';
  /** The object that it belongs to, if that has a name; for expressions. */
  readonly gateway?: ObjectName;
  /** The TLS settings, if and only if the protocol is HTTPS. */
  readonly tls?: ServerTls;
  /** Policies that stand on the listener (gateway) itself; they run before those of the route. */
  readonly policies: readonly PolicyUse[];
  readonly routes: readonly Route[];
}

/** Bytes are passed as they come, each connection to a backend of its own. */
export interface TcpListener {
  /** Unique within the bind. */
  readonly name: string;
  /** TLS: connections are told apart by the server name that the client asks for. TCP: every connection is taken. */
  readonly protocol: 'TLS' | 'TCP';
  /** With TLS only: the server names that are taken, as hosts are for HTTP; absent for all of them, and for none. */
  readonly hostname?: string;
  /** With TLS only: it ends here (`Terminate`). Absent: the backend gets the handshake of the client (`Passthrough`). */
  readonly tls?: ServerTls;
  /** The first one of the most specific host name takes the connection; where there is none it is closed. */
  readonly tcpRoutes: readonly TcpRoute[];
}

export interface TcpRoute {
  /** Unique within the listener. */
  readonly name: string;
  /**
   * Server names of TLS, lower case; empty, or with `*`, for all of the listener. Where the protocol is TCP a connection
   * has no name, and only a route for all of them is chosen.
   */
  readonly hostnames: readonly string[];
  /** Drawn by weight for each connection; where there is none with a weight above 0, connections are closed. */
  readonly backends: readonly (TcpBackend | InvalidBackend)[];
  readonly place: Place;
}

/** Datagrams are passed as they come; those of one client go to the same backend until it has been silent for long. */
export interface UdpListener {
  /** Unique within the bind. */
  readonly name: string;
  readonly protocol: 'UDP';
  /** The first one takes everything; without one datagrams are dropped. */
  readonly udpRoutes: readonly UdpRoute[];
}

export interface UdpRoute {
  /** Unique within the listener. */
  readonly name: string;
  /** Drawn by weight for each client. */
  readonly backends: readonly (UdpBackend | InvalidBackend)[];
  readonly place: Place;
}

export interface Route {
  /** Unique within the listener. */
  readonly name: string;
  /** Lower case; empty, or with `*`, for every host of the listener. */
  readonly hostnames: readonly string[];
  /** Any one of them selects the route; never empty. */
  readonly matches: readonly Match[];
  readonly policies: readonly PolicyUse[];
  readonly backends: readonly Backend[];
  readonly mirrors?: readonly Mirror[];
  /** The object that it was made from; for expressions. */
  readonly origin?: RouteOrigin;
  readonly place: Place;
}

export interface ObjectName {
  readonly name: string;
  readonly namespace?: string;
}

export interface RouteOrigin extends ObjectName {
  /** `HTTPRoute`, `GRPCRoute`. */
  readonly kind: string;
  /** Name of the rule, where it has one. */
  readonly rule?: string;
}

/** All parts of one match must hold. */
export interface Match {
  readonly path: PathMatch;
  /** Upper case as sent on the wire. */
  readonly method?: string;
  readonly headers: readonly ValueMatch[];
  readonly query: readonly ValueMatch[];
}

/** `prefix` matches whole segments; `regex` must match the whole path. */
export interface PathMatch {
  readonly kind: 'exact' | 'prefix' | 'regex';
  readonly value: string;
  /** The characters that count for precedence, where they are not those of the value. */
  readonly counted?: number;
}

export interface ValueMatch {
  readonly name: string;
  readonly kind: 'exact' | 'regex';
  readonly value: string;
}

/** A policy with its checked settings (the output of that policy's schema). */
export interface PolicyUse {
  /** A name of the table in `policies/index.ts`. */
  readonly name: string;
  readonly settings: unknown;
  readonly place: Place;
  /** A tenant may have written it: addresses that it has fetched must lead to nothing of this machine. */
  readonly guarded?: true;
  /** The namespace whose objects hold it; absent for a policy of a file. */
  readonly tenant?: string;
}

export type Backend = HttpBackend | McpBackend | ConsoleBackend | InvalidBackend;

interface BackendBase {
  /** Relative share of requests; 0 takes none. */
  readonly weight: number;
  /** Stable over reloads while the backend stays at the same place of the configuration. */
  readonly key: string;
  readonly place: Place;
}

/** An HTTP app: `host` is a name or an address without brackets. */
export interface HttpBackend extends BackendBase {
  readonly kind: 'http';
  readonly host: string;
  readonly port: number;
  /** The addresses where `host` is served; absent: every address that its name has. */
  readonly addresses?: readonly BackendAddress[];
  /** Key of the list that `addresses` is filled from (`joinEndpoints`): lists change more often than models. */
  readonly endpoints?: string;
  /** Connections are encrypted; absent: plain TCP. */
  readonly tls?: BackendTls;
  /** Requests carry the name of the backend as their host, where no policy says otherwise; absent: the client's. */
  readonly ownHost?: true;
  /** Spoken to in HTTP/2; absent: HTTP/1.1. */
  readonly http2?: true;
  /** Answers count as signs of health; absent: only whether it can be connected to. */
  readonly eviction?: Eviction;
  /** Requests of the gateway's own that tell whether an address works; absent: none are made. */
  readonly check?: HealthCheck;
  readonly connections?: ConnectionLimits;
  /** In place of what holds for all backends. */
  readonly tcp?: Partial<Pick<UpstreamSettings, 'connectTimeoutMs' | 'keepAlive'>>;
  /** For each request that goes there, in place of what a policy of the route says. */
  readonly requestTimeoutMs?: number;
  /** Requests that are alike go to the same address; absent: wherever there is least to do. */
  readonly affinity?: Affinity;
  /** Policies for the requests that go here; they run after those of the route. */
  readonly policies?: readonly PolicyUse[];
  /** Besides those of the route. */
  readonly mirrors?: readonly Mirror[];
}

/** A copy of requests goes there, and what it answers is thrown away. */
export interface Mirror {
  /** The share of the requests, from 0 to 1. */
  readonly share: number;
  readonly backend: HttpBackend;
}

export interface Affinity {
  /** CEL expression about the request; what it comes to is what requests have in common. */
  readonly source: string;
  /** An address with so many times the average of requests under way is passed by. */
  readonly loadFactor: number;
}

/** Takes the bytes of connections. A health check is asked over HTTP all the same. */
export interface TcpBackend extends Omit<
  HttpBackend,
  'kind' | 'ownHost' | 'http2' | 'affinity' | 'policies' | 'mirrors'
> {
  readonly kind: 'tcp';
}

export interface UdpBackend extends BackendBase {
  readonly kind: 'udp';
  readonly host: string;
  readonly port: number;
  /** The addresses where `host` is served; absent: every address that its name has. */
  readonly addresses?: readonly BackendAddress[];
  /** Key of the list that `addresses` is filled from. */
  readonly endpoints?: string;
}

/** The console and the admin API of this gateway, for callers whom the route has authenticated. */
export interface ConsoleBackend extends BackendBase {
  readonly kind: 'console';
  /** Rules (the settings of `authorization`) that make a caller an operator; absent: every caller is a viewer. */
  readonly operators?: unknown;
  /** The path that ends the login of a caller, where a policy of the route has one. */
  readonly logoutPath?: string;
}

/** Stands for a backend that does not exist: its share is refused, since nobody else may get it. */
export interface InvalidBackend extends BackendBase {
  readonly kind: 'invalid';
  /** The reason, for the log. */
  readonly problem: string;
}

export interface BackendAddress {
  /** A name (all its addresses are used), or an address without brackets. */
  readonly host: string;
  readonly port: number;
  /** The zone in which it runs; addresses of the gateway's own zone are preferred. */
  readonly zone?: string;
}

/** Takes an address out of the choice for a while after failures in a row (5xx, or no answer at all). */
export interface Eviction {
  readonly consecutiveFailures: number;
  /** The first time; longer each time that it fails again soon, at most ten times as long. */
  readonly durationMs: number;
  /** No more of the addresses are out at a time, in percent. */
  readonly maxEjectedPercent: number;
}

export interface HealthCheck {
  readonly path: string;
  /** `Host` of the checks; that of the backend by default. */
  readonly host?: string;
  readonly intervalMs: number;
  readonly timeoutMs: number;
  /** Failures, or answers, in a row that change the verdict. */
  readonly unhealthyThreshold: number;
  readonly healthyThreshold: number;
  /** Status codes that count as well, both ends included. */
  readonly statuses: readonly { readonly from: number; readonly to: number }[];
}

/** For each address of the backend, and each process of the gateway. */
export interface ConnectionLimits {
  readonly maxConnections?: number;
  /** Requests that wait for a connection, over all addresses of the backend. */
  readonly maxPendingRequests: number;
  readonly maxRequestsPerConnection?: number;
}

/** Text in the PEM form (RFC 7468): in a file, or right here. */
export type Pem = { readonly file: string } | { readonly inline: string };

/**
 * The TLS identity of the gateway towards clients. Ciphers and groups go by the names of OpenSSL, the best first.
 */
export interface ServerTls {
  /** With its chain. */
  readonly cert: Pem;
  readonly key: Pem;
  /** Further ones, shown to clients who ask for a name that they are for and that fits them better. */
  readonly more?: readonly { readonly cert: Pem; readonly key: Pem }[];
  /** Authorities of client certificates; where there are any, every client must show one. */
  readonly root?: Pem;
  /** A client may go without, or show any certificate; only one that `root` has signed says who it is. */
  readonly rootOptional?: true;
  readonly ciphers: readonly string[];
  readonly minVersion: TlsVersion;
  readonly maxVersion: TlsVersion;
  /** Groups for the key exchange; those of the platform by default. */
  readonly groups?: readonly string[];
}

export type TlsVersion = 'TLSv1.2' | 'TLSv1.3';

export interface BackendTls {
  /** Name to ask for (SNI) and to find in the certificate; the host of the backend by default. */
  readonly hostname?: string;
  /** Authorities to trust instead of those of the system. */
  readonly root?: Pem;
  /** The client certificate of the gateway. */
  readonly client?: { readonly cert: Pem; readonly key: Pem };
  /** Take any certificate, whoever signed it, for whatever name. */
  readonly insecure: boolean;
  /** Take a trusted certificate for whatever name. */
  readonly insecureHost: boolean;
  /** Further names (or URIs, with `://`) of which the certificate may hold one instead of `hostname`. */
  readonly subjectAltNames: readonly string[];
  /** The certificate must hold one of them; `hostname` is only asked for. */
  readonly subjectAltNamesOnly?: true;
  /** Groups for the key exchange, by the names of OpenSSL, the best first; those of the platform by default. */
  readonly groups?: readonly string[];
  /** Protocols to offer (ALPN) where bytes are passed as they come; none by default. HTTP has its own. */
  readonly alpn?: readonly string[];
}

export interface McpBackend extends BackendBase {
  readonly kind: 'mcp';
  /** The name by which the operator knows it, for clients of several targets; absent where it has none. */
  readonly name?: string;
  readonly targets: readonly McpTarget[];
  readonly prefixMode: 'conditional' | 'always' | 'never';
  /** Stands between the name of a target and the name of its tool or prompt; `_` where absent. */
  readonly prefixSeparator?: string;
  /** The targets that work are served while others fail. Absent: a target that fails fails the request. */
  readonly failOpen?: true;
  /** Under `failOpen`, the time that a request to all targets waits for slow ones, in milliseconds; 5 s where absent. */
  readonly targetWaitMs?: number;
  /**
   * Withhold or log tools, prompts, templates and instructions whose definition has changed since it was first seen.
   * Absent: definitions are not compared.
   */
  readonly pin?: 'enforce' | 'warn';
  /** No session outlives its request. */
  readonly stateless?: true;
  /** The items that clients see, where that is not all of them. */
  readonly view?: McpItemView;
  /** When true, Host and Origin must name the local machine. */
  readonly dnsRebindingProtection: boolean;
}

/** A choice of the items of the targets, and how clients see them. A kind without a list is shown whole. */
export interface McpItemView {
  /** Items that no entry names. */
  readonly rest: 'hide' | 'show';
  readonly tools?: readonly ViewEntry[];
  readonly prompts?: readonly ViewEntry[];
  readonly resources?: readonly ViewEntry[];
}

/** The first entry that matches an item decides about it. */
export interface ViewEntry {
  /** Absent: every target. */
  readonly target?: string;
  /** The target's own name, or its URI or template; `*` stands for any characters. */
  readonly name: string;
  readonly hide?: true;
  /** Another name for clients; for a resource, its member `name`. */
  readonly as?: string;
  readonly title?: string;
  readonly description?: string;
}

/** The kinds of MCP target by name. The facts about each kind are in `mcp/targets/facts.ts`. */
export interface McpTargets {
  readonly stdio: StdioTarget;
  readonly http: RemoteTarget;
  readonly sse: SseTarget;
  readonly openapi: OpenApiTarget;
}

export type McpTarget = McpTargets[keyof McpTargets];

/** The time that a call of an MCP server may take without progress, in milliseconds; 0 is no limit. */
export interface CallTimeouts {
  readonly callTimeoutMs?: number;
  /** By the server's own names of its tools. */
  readonly toolTimeoutsMs?: Readonly<Record<string, number>>;
}

/** An MCP server that is reached over the network; its address and its connections are described as for an HTTP app. */
export interface NetworkTarget
  extends
    CallTimeouts,
    Omit<HttpBackend, 'kind' | 'weight' | 'key' | 'place' | 'affinity' | 'policies' | 'mirrors'> {
  readonly name: string;
  /** The path of its endpoint, with the query if there is one; begins with a slash. */
  readonly path: string;
  /** For every request to it, in place of those of the same name on the route: backendAuth, requestHeaderModifier. */
  readonly policies?: readonly PolicyUse[];
}

/** An MCP server that is spoken to over Streamable HTTP. */
export interface RemoteTarget extends NetworkTarget {
  readonly kind: 'http';
}

/** An MCP server that is spoken to over HTTP+SSE (MCP 2024-11-05); `path` is that of its event stream. */
export interface SseTarget extends NetworkTarget {
  readonly kind: 'sse';
}

/** An HTTP API that the gateway serves as an MCP server. */
export interface OpenApiTarget extends NetworkTarget {
  readonly kind: 'openapi';
  readonly source: ApiSource;
  /** The configuration gives no path: requests go below the path of the first server of the description. */
  readonly usesServerPath?: true;
}

/** An MCP server that runs as a child process and speaks over stdin/stdout. */
export interface StdioTarget extends CallTimeouts {
  readonly kind: 'stdio';
  readonly name: string;
  readonly cmd: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Start from an empty environment instead of the gateway's own (less its secrets). */
  readonly clearEnv: boolean;
  readonly cwd?: string;
  /** From spawn to the answer to initialize. */
  readonly startTimeoutMs: number;
  /**
   * A session whose child is taken to make room ends, since the server keeps something in memory that a new child would
   * lack. Absent: the child is started again when the session comes back.
   */
  readonly resume?: false;
  /** The server keeps nothing of its own: another gateway may begin a session with it anew, for a client that goes on. */
  readonly stateless?: true;
  /**
   * `shared`: a single child serves all requests of a backend without sessions. `user`: the sessions of a principal share
   * a child. Absent: each session has its own.
   */
  readonly scope?: 'shared' | 'user';
  /** Environment variables whose values belong to the caller, by name; beside `env`. Absent: there are none. */
  readonly injected?: Readonly<Record<string, InjectedValue>>;
  /** The variables of the gateway that the child inherits; absent: all but secrets, or none with `clearEnv`. */
  readonly inheritEnv?: readonly string[];
  /** The rights of the child; absent: those of the gateway. */
  readonly isolation?: ChildIsolation;
}

/** The rights of a child process, all on Linux except `user` and `group`. */
export interface ChildIsolation {
  /** Name or number of a user of the machine. */
  readonly user?: string | number;
  readonly group?: string | number;
  readonly limits?: ChildLimits;
  /** The working directory is a folder that no other child has; it is removed with the child. */
  readonly privateFolder?: true;
  /** The child sees no process but its own ones. */
  readonly privateProcesses?: true;
  /** No program that it starts gets more rights than the child has (setuid, file capabilities). */
  readonly noNewPrivileges?: true;
}

/** Limits of each process of a child, of the kernel (setrlimit). */
export interface ChildLimits {
  /** Bytes of address space. */
  readonly memoryBytes?: number;
  readonly cpuSeconds?: number;
  readonly openFiles?: number;
  /** Processes and threads of the user, those of other children included. */
  readonly processes?: number;
}

/** The source of an environment variable that differs between callers. */
export type InjectedValue =
  | { readonly kind: 'claim'; readonly claim: string }
  | { readonly kind: 'header'; readonly header: string }
  /** The policies put the value into the `Authorization` of a request, as a bearer token. */
  | { readonly kind: 'exchange'; readonly policies: readonly PolicyUse[] };

/** `off`, a TCP address, or a unix socket. */
export type ListenAddress =
  | { readonly kind: 'off' }
  | { readonly kind: 'tcp'; readonly host: string; readonly port: number }
  | { readonly kind: 'unix'; readonly path: string };

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';
export type LogFormat = 'json' | 'text';

/** The `config` section and the front-end limits. `fixed` parts are read at start only. */
export interface ProcessSettings {
  readonly fixed: FixedSettings;
  readonly limits: Limits;
  readonly headers: HeaderSettings;
  /**
   * Addresses and networks of the proxies in front, whose word about their clients is taken. Absent: PROXY headers are
   * taken from everybody, as the format has it, and X-Forwarded-For from nobody.
   */
  readonly trustedProxies?: readonly string[];
  /** The admin API may write the configuration file. */
  readonly consoleWrites?: true;
  /** The way to the console, for routes that lead there. The main process adds it to models that have such a route. */
  readonly consoleDoor?: ConsoleDoorAddress;
  readonly accessLog: 'json' | 'text' | 'none';
  /** Changes to the lines of the access log; absent: they have the fields that apply. */
  readonly accessFields?: AccessFields;
  readonly upstream: UpstreamSettings;
}

/** A socket of the main process that takes requests for the console. */
export interface ConsoleDoorAddress {
  /** The path of the socket. */
  readonly path: string;
  /** Proves that the gateway itself sends a request: every process of its user can connect. */
  readonly secret: string;
}

/** Changes to the fields of the access log. */
export interface AccessFields {
  /** A CEL condition: only the requests for which it is true are logged. */
  readonly filter?: string;
  /** CEL expressions by the name of their field. */
  readonly add?: Readonly<Record<string, string>>;
  readonly remove?: readonly string[];
}

/** An OpenTelemetry collector. */
export interface OtlpTarget {
  /** The URL of the collector; over HTTP with the path. */
  readonly endpoint: string;
  readonly protocol: 'grpc' | 'http';
  /** Headers of every export. The values may be secrets. */
  readonly headers: readonly { readonly name: string; readonly text: string }[];
}

/** The export of the access log, with changes to its fields. */
export interface LogExportSettings extends OtlpTarget, AccessFields {}

/** The traces of requests, and the OpenTelemetry collector that gets them. */
export interface TracingSettings extends OtlpTarget {
  /** A share, a condition, or a CEL expression: which requests without a trace are traced. */
  readonly randomSampling: string | number | boolean;
  /** The same for requests whose client has sampled them. */
  readonly clientSampling: string | number | boolean;
  /** CEL expressions of attributes of the server span, by name. */
  readonly add?: Readonly<Record<string, string>>;
  /** Attributes that spans do not have. */
  readonly remove?: readonly string[];
  /** Attributes of the gateway itself. */
  readonly resources?: Readonly<Record<string, string | number | boolean>>;
  /** A CEL condition: only the spans of ended requests for which it is true are exported. */
  readonly filter?: string;
}

export interface FixedSettings {
  readonly admin: ListenAddress;
  readonly stats: ListenAddress;
  readonly readiness: ListenAddress;
  readonly logLevel: LogLevel;
  readonly logFormat: LogFormat;
  /** Absent: nothing is traced. */
  readonly tracing?: TracingSettings;
  /** Absent: the access log is only written. */
  readonly logExport?: LogExportSettings;
  /** Processes that serve: with 1 the main process itself does. `auto`: as many as the machine has processors for. */
  readonly workers: number | 'auto';
  /** 64 hex digits (AES-256-GCM), or absent: a random key is made at start. */
  readonly sessionKey?: string;
  /** Idle time after which an MCP session ends. */
  readonly sessionTtlMs: number;
  /** The folder of pinned definitions. */
  readonly pins?: string;
  /** The server that holds what replicas share; absent: each process has its own. */
  readonly store?: StoreSettings;
  /** The stream that records what callers and operators did; absent: nothing is recorded. */
  readonly audit?: AuditSettings;
  /** The time after its beginning in which another process with the key may resume an MCP session; 0: never. */
  readonly sessionResumableMs: number;
  /** After this long a drain ends what is still open. */
  readonly terminationDeadlineMs: number;
  /** For at least this long after SIGTERM new connections are still accepted. */
  readonly minTerminationDeadlineMs: number;
}

/** A server of Redis or Valkey. Times in milliseconds. */
export interface StoreSettings {
  readonly host: string;
  readonly port: number;
  readonly database: number;
  /** Absent: without TLS. */
  readonly tls?: Pick<BackendTls, 'hostname' | 'root' | 'client'>;
  /** The user of the server's access control list; `default` where absent. */
  readonly username?: TextSource;
  readonly password?: TextSource;
  /** Begins every key. */
  readonly keyPrefix: string;
  readonly connectTimeoutMs: number;
  readonly commandTimeoutMs: number;
}

/** The groups of operations that the audit stream may hold. */
export type AuditGroup = 'calls' | 'lists' | 'sessions' | 'pings' | 'refusals' | 'admin';

/** The audit stream. Times in milliseconds, sizes in bytes. */
export interface AuditSettings {
  readonly sink: AuditSink;
  readonly include: readonly AuditGroup[];
  /** The parts of arguments that lines show: nothing, names and types, values without secrets, or values. */
  readonly arguments: 'none' | 'shape' | 'redacted' | 'full';
  /** Values that `redacted` hides, from the object of arguments on. */
  readonly redact: readonly JsonPath[];
  /** The claim that holds the groups of a caller; absent: lines name no groups. */
  readonly groupsClaim?: string;
  readonly chain?: AuditChainSettings;
  /** A call waits until its intent is durable, and is refused where that fails. */
  readonly required: boolean;
}

export type AuditSink =
  | { readonly kind: 'file'; readonly path: string; readonly rotation?: AuditRotation }
  | { readonly kind: 'stdout' }
  | {
      readonly kind: 'http';
      readonly url: string;
      /** Sent as a bearer token. */
      readonly token?: TextSource;
      readonly timeoutMs: number;
    };

export interface AuditRotation {
  readonly maxBytes: number;
  /** Rotated files that stay. */
  readonly keep: number;
}

/** Each line proves the line before it by a secret key. */
export interface AuditChainSettings {
  readonly keyFile: string;
  /** The file of checkpoints; absent: the log of the gateway has them. */
  readonly checkpointFile?: string;
  readonly checkpointEveryMs: number;
}

/** A path in a JSON value. `deep` stands for any number of levels. */
export type JsonPath = readonly JsonPathPart[];
export type JsonPathPart =
  | { readonly kind: 'name'; readonly name: string }
  | { readonly kind: 'index'; readonly index: number }
  | { readonly kind: 'any' }
  | { readonly kind: 'deep' };

/** A text in the configuration, or in a file of its own. */
export type TextSource =
  { readonly kind: 'inline'; readonly text: string } | { readonly kind: 'file'; readonly file: string };

/** The limits on everything that a peer can make grow or last. Sizes in bytes, times in milliseconds. */
export interface Limits {
  readonly maxHeadBytes: number;
  readonly maxHeaders: number;
  readonly maxUriBytes: number;
  readonly maxMethodBytes: number;
  /** Most bytes of a field name, in a request or in the answer of a backend. */
  readonly maxHeaderNameBytes: number;
  /** A forwarded body may be larger than memory: 0 is no limit. */
  readonly maxBodyBytes: number;
  /** A body that has to be held in memory (an MCP message). */
  readonly maxBufferBytes: number;
  /** Start of a connection of HTTP, behind its handshake, to the first byte of its first request. */
  readonly firstRequestTimeoutMs: number;
  /** First byte of a request to the end of its head. */
  readonly headTimeoutMs: number;
  /** Start of a connection to the end of its PROXY header and of its TLS handshake. */
  readonly handshakeTimeoutMs: number;
  /** Longest pause within a request or response body that someone waits for. */
  readonly bodyTimeoutMs: number;
  /** From a whole request to the head of its answer, where no policy limits that; 0 is no limit. */
  readonly responseTimeoutMs: number;
  /** A kept-alive connection without a request. */
  readonly idleTimeoutMs: number;
  /** A tunnel (after an upgrade, or a TCP route) in which no byte moves. */
  readonly tunnelIdleTimeoutMs: number;
  /** The same where one side has ended already: whether the other is still there is told by nothing then. */
  readonly tunnelHalfClosedTimeoutMs: number;
  /** For clients that went away without a word. */
  readonly clientKeepAlive: TcpKeepAlive;
  /** A client of a UDP listener from whom, and for whom, nothing comes. */
  readonly udpIdleTimeoutMs: number;
  /** Memory in which answers of HTTP/2 wait for their clients, in bytes; 0: a quarter of what the system grants. */
  readonly maxUnreadBytes: number;
  /** The same for one connection. */
  readonly maxUnreadBytesPerConnection: number;
  /** Clients of UDP listeners at the same time. */
  readonly maxUdpFlows: number;
  readonly maxConnections: number;
  /** Requests under way at the same time, over all connections; tunnels are among them. */
  readonly maxRequests: number;
  /** The requests of a connection, which ends after the last; 0 is no limit. */
  readonly maxRequestsPerConnection: number;
  /** Age from which a client connection ends after the present request; 0 is no limit. */
  readonly maxConnectionAgeMs: number;
  /** Bytes a second that a request body someone waits for must bring, on average over the window; 0 is no limit. */
  readonly minBodyRate: number;
  readonly minBodyRateWindowMs: number;
  readonly http2: Http2Limits;
  readonly overload: OverloadLimits;
  readonly maxMcpSessions: number;
  /** A principal is the issuer and subject of a token, or the network of a client that shows none. */
  readonly maxMcpSessionsPerPrincipal: number;
  readonly maxChildren: number;
  readonly maxChildrenPerPrincipal: number;
  /** MCP requests that wait for their response. */
  readonly maxMcpCalls: number;
  readonly maxMcpCallsPerPrincipal: number;
  /** Event streams that clients opened with GET. */
  readonly maxMcpStreams: number;
  readonly maxMcpStreamsPerPrincipal: number;
  /** A session without stream and call keeps its child for at least this long, however full a budget is. */
  readonly mcpSessionGraceMs: number;
  /** A call of MCP without progress, where neither target nor policy says it; 0 is no limit. */
  readonly mcpCallTimeoutMs: number;
  /** A call of MCP, however much progress it makes. */
  readonly maxMcpCallTimeMs: number;
  /** Objects and lists within each other in one message of an MCP client. */
  readonly maxJsonDepth: number;
  /** JSON values in one message of an MCP client. */
  readonly maxJsonNodes: number;
  /** Most bytes of a message of an MCP server. */
  readonly maxMcpMessageBytes: number;
  /** Most bytes of an MCP message of a client. */
  readonly maxMcpRequestBytes: number;
}

/** The limits of HTTP/2 client connections (RFC 9113 §6.5.2, §6.9). */
export interface Http2Limits {
  /** Requests at a time on one connection. */
  readonly maxStreams: number;
  /** Bytes of one request body, and of all of a connection, that may be under way without having been taken. */
  readonly streamWindow: number;
  readonly connectionWindow: number;
  /** Largest payload of a frame that clients may send. */
  readonly frameSize: number;
  /** Head of a request; `maxHeadBytes` where absent. */
  readonly maxHeadBytes?: number;
  /** From one PING of ours to the next; 0: none are sent. */
  readonly keepaliveIntervalMs: number;
  /** For the answer to it; then the connection is dead. */
  readonly keepaliveTimeoutMs: number;
}

/** When the process has more to do than it can. 0 switches a threshold off. */
export interface OverloadLimits {
  /** The lag of the event loop at which connections end after their request, and at which new requests get 503. */
  readonly closeLagMs: number;
  readonly shedLagMs: number;
  /** The same for the memory in use: its share, 0 to 1, of what the process may have. */
  readonly closeMemory: number;
  readonly shedMemory: number;
}

/** The headers that the gateway adds by itself. */
export interface HeaderSettings {
  readonly forwardedFor: boolean;
  readonly forwardedProto: boolean;
  readonly forwardedHost: boolean;
  readonly requestId: boolean;
  readonly upstreamServiceTime: boolean;
  readonly server: boolean;
}

export interface UpstreamSettings {
  readonly connectTimeoutMs: number;
  readonly poolIdleTimeoutMs: number;
  /** Idle connections kept for one endpoint. */
  readonly poolMaxSize: number;
  readonly keepAlive: TcpKeepAlive;
  /** The address family that is used of a name. */
  readonly lookupFamily: LookupFamily;
  /** The zone in which the gateway itself runs. */
  readonly zone?: string;
}

/** `V4Preferred` keeps those of IPv6 for when no other works. */
export type LookupFamily = 'All' | 'V4Preferred' | 'V4Only' | 'V6Only';

/** Probes of the system for a peer that went away without a word. */
export interface TcpKeepAlive {
  readonly enabled: boolean;
  /** Idle time before the first probe. */
  readonly timeMs: number;
  readonly intervalMs: number;
  /** Unanswered probes before the connection is given up. */
  readonly retries: number;
}
