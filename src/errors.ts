/**
 * The one catalogue of what can go wrong, and the error class that carries an entry of it.
 *
 * Every failure that reaches a client, a log or a metric has a code from here. `docs/errors.md` is generated
 * from this table (`npm run generate`), and each edge (HTTP, JSON-RPC) turns an entry into its reply in one
 * place: `proxy/exchange/sendError.ts` and `mcp/messages/rpcError.ts`.
 */

/** The cause of an error: the client's request, this program, or the backend behind it. */
export type ErrorSource = 'client' | 'gateway' | 'upstream';

/** May the caller try again: not with the same request, later, or at once. */
export type RetryAnswer = 'no' | 'later' | 'now';

export interface CatalogueEntry {
  readonly source: ErrorSource;
  /** HTTP status of the reply. */
  readonly status: number;
  /** JSON-RPC error code, where the error can end an MCP call. */
  readonly jsonrpc?: number;
  readonly retry: RetryAnswer;
  /** The text for the client; holds no detail of the inside. */
  readonly message: string;
  /** The meaning of the error and the remedy, for the operator (shown in docs/errors.md). */
  readonly help: string;
}

const entry = (
  source: ErrorSource,
  status: number,
  retry: RetryAnswer,
  message: string,
  help: string,
  jsonrpc?: number,
): CatalogueEntry => ({
  source,
  status,
  retry,
  message,
  help,
  ...(jsonrpc === undefined ? {} : { jsonrpc }),
});

/** code → entry. Add a row here, run `npm run generate`, and the code may be thrown. */
export const catalogue = {
  // The wire (RFC 9112, RFC 9110)
  bad_request: entry(
    'client',
    400,
    'no',
    'bad request',
    'The message breaks the grammar or the framing rules of RFC 9112; the log names the rule.',
  ),
  bad_host: entry(
    'client',
    400,
    'no',
    'bad host',
    'The Host header is missing, repeated or not a valid authority (RFC 9112 §3.2).',
  ),
  bad_framing: entry(
    'client',
    400,
    'no',
    'bad request',
    'Content-Length and Transfer-Encoding conflict, repeat or are malformed: a request-smuggling pattern (RFC 9112 §6).',
  ),
  bad_chunk: entry(
    'client',
    400,
    'no',
    'bad request',
    'A chunk size, extension or terminator is malformed (RFC 9112 §7.1).',
  ),
  request_timeout: entry(
    'client',
    408,
    'now',
    'request timeout',
    'The client began a request and did not finish its head or body in time (limits.headTimeout, limits.bodyTimeout, limits.minBodyRate).',
  ),
  body_too_large: entry(
    'client',
    413,
    'no',
    'content too large',
    'The request body is over limits.maxBodyBytes, over buffer.request.maxBytes of the route, or over frontendPolicies.http.maxBufferSize where it must be held in memory.',
  ),
  uri_too_long: entry('client', 414, 'no', 'uri too long', 'The request target is over limits.maxUriBytes.'),
  expectation_failed: entry(
    'client',
    417,
    'no',
    'expectation failed',
    'Only `Expect: 100-continue` is known (RFC 9110 §10.1.1).',
  ),
  head_too_large: entry(
    'client',
    431,
    'no',
    'request header fields too large',
    'The head is over limits.maxHeadBytes or has more header lines than frontendPolicies.http.http1MaxHeaders.',
  ),
  version_unsupported: entry(
    'client',
    505,
    'no',
    'http version not supported',
    'The request line names a version other than HTTP/1.0 or HTTP/1.1.',
  ),
  not_implemented: entry(
    'client',
    501,
    'no',
    'not implemented',
    'A transfer coding other than chunked, or the CONNECT method.',
  ),
  overloaded: entry(
    'gateway',
    503,
    'later',
    'overloaded',
    'limits.maxConnections or limits.maxRequests is reached, the process is over a threshold of limits.overload, or more passwords of one client, or in all, wait for basicAuth than can be checked; the log says which.',
  ),

  // Routing
  route_not_found: entry(
    'client',
    404,
    'no',
    'route not found',
    'No route of the listener matches host, path, method, headers and query. `portcullis explain` lists the routes in match order.',
  ),
  route_work_limit: entry(
    'gateway',
    500,
    'no',
    'no route was found within the limit',
    'The regular expressions of the routes of this host took too much work for this request (1 000 000 units for one request, docs/routing.md): simplify them, or let them begin with a literal path segment.',
  ),
  ambiguous_path: entry(
    'client',
    400,
    'no',
    'bad request',
    'A backend may read the path in another way (slashes merged, %2F decoded, path parameters cut), and that reading belongs to another route, to none, or is refused by the rules; the log has the reading. See docs/routing.md.',
  ),
  listener_not_found: entry(
    'client',
    404,
    'no',
    'listener not found',
    'No listener of this port serves the host name.',
  ),
  no_backend: entry(
    'gateway',
    500,
    'no',
    'no valid backends',
    'The route has no backend with a weight above 0, or the one that was drawn does not exist; the log says why.',
  ),
  route_broken: entry(
    'gateway',
    500,
    'no',
    'route configuration is invalid',
    'A policy of this route could not be prepared; the route is closed until it is mended. See the log and /config_dump.',
  ),
  internal_error: entry(
    'gateway',
    500,
    'later',
    'internal error',
    'A defect of the gateway; the log has the stack. Please report it.',
    -32603,
  ),
  shutting_down: entry(
    'gateway',
    503,
    'now',
    'shutting down',
    'The gateway is draining; another instance should take the request.',
    -32603,
  ),

  misdirected: entry(
    'client',
    421,
    'now',
    'misdirected request',
    'The host of the request belongs to another listener of this port than the one whose certificate the connection was opened with (RFC 9110 §15.5.20); clients ask again on a connection of its own.',
  ),
  tls_required: entry(
    'client',
    400,
    'no',
    'this port speaks HTTPS',
    'Plain HTTP was spoken to a port whose listeners all speak TLS.',
  ),

  // Backends
  upstream_connect_failed: entry(
    'upstream',
    503,
    'later',
    'upstream connect failed',
    'The backend refused the connection, its name did not resolve, or it did not answer within connectTimeout.',
  ),
  upstream_tls_failed: entry(
    'upstream',
    503,
    'later',
    'upstream connect failed',
    'The backend was reached, but TLS with it failed: its certificate is not trusted, has expired or is for another name, or it wants a client certificate; the log says which. See backendTLS.',
  ),
  upstream_unhealthy: entry(
    'upstream',
    503,
    'later',
    'no healthy upstream',
    'The health checks of the backend find none of its addresses healthy; the log tells when each was last judged.',
  ),
  upstream_overloaded: entry(
    'gateway',
    503,
    'later',
    'upstream overloaded',
    'All connections that policies.connections.maxConnections allows are busy and maxPendingRequests others wait, or a request has waited for one as long as connectTimeout.',
  ),
  upstream_reset: entry(
    'upstream',
    503,
    'later',
    'upstream connection closed',
    'The backend closed the connection before it answered.',
  ),
  upstream_protocol: entry(
    'upstream',
    502,
    'no',
    'upstream protocol error',
    'The backend answered with something that is not valid HTTP; the log names the rule.',
  ),
  upstream_no_upgrade: entry(
    'upstream',
    501,
    'no',
    'not implemented',
    'A WebSocket was asked for, and the backend, which is spoken to in HTTP/2, does not offer extended CONNECT (RFC 8441); speak to it in HTTP/1.1 (policies.http.version).',
  ),
  upstream_too_large: entry(
    'upstream',
    502,
    'no',
    'upstream answer too large',
    'The route has buffer.response, and the answer of the backend is over its maxBytes.',
  ),
  upstream_timeout: entry(
    'upstream',
    504,
    'later',
    'request timeout',
    'timeout.requestTimeout or timeout.backendRequestTimeout passed before the answer was complete, or limits.responseTimeout before it began.',
  ),

  // Tokens and rules (RFC 6750)
  token_missing: entry(
    'client',
    401,
    'no',
    'JWT token required',
    'The route needs a bearer token and the request has none.',
  ),
  token_invalid: entry(
    'client',
    401,
    'no',
    'the token is not valid',
    'A token was presented and refused; the log says why (signature, issuer, audience, lifetime, shape).',
  ),
  credentials_missing: entry(
    'client',
    401,
    'no',
    'credentials required',
    'The route has basicAuth or apiKey in strict mode and the request carries neither password nor key where they are looked for.',
  ),
  credentials_invalid: entry(
    'client',
    401,
    'no',
    'the credentials are not valid',
    'A password or an API key was presented and refused; the log says why, without naming user or key.',
  ),
  too_many_attempts: entry(
    'client',
    429,
    'later',
    'too many attempts',
    'One client (an IPv4 address or the /64 of an IPv6 address) tried more passwords for one user than basicAuth takes: ten at once, then one every six seconds. Retry-After says when the next one is taken. Other clients, and pairs that were right before, are not affected.',
  ),
  rate_limited: entry(
    'client',
    429,
    'later',
    'rate limit exceeded',
    'The bucket of localRateLimit is empty; x-ratelimit-reset says in how many seconds it is filled again.',
  ),
  rate_limit_unavailable: entry(
    'gateway',
    503,
    'later',
    'rate limit unavailable',
    'With several workers the main process counts for localRateLimit, and it did not answer within a second: the machine is far too busy, or the counter had to be started anew. Nothing passes uncounted.',
  ),
  authorization_denied: entry(
    'client',
    403,
    'no',
    'authorization failed',
    'The rules of the route refuse this caller; the log names the rule.',
  ),
  keys_unavailable: entry(
    'gateway',
    503,
    'later',
    'the key set of the token issuer is not available',
    'The JWKS was never fetched. The gateway keeps trying in the background; routes that do not need it are not affected.',
  ),
  issuer_metadata_unavailable: entry(
    'gateway',
    503,
    'later',
    'the metadata of the token issuer is not available',
    'The authorization server did not answer for its metadata (RFC 8414), or answered with that of another issuer; the log names the addresses tried. Only /.well-known/oauth-authorization-server is affected.',
  ),
  policy_failed: entry(
    'gateway',
    500,
    'no',
    'a policy of the route failed',
    'An expression of a policy could not be evaluated for this request or made something unusable, or a file that a policy needs was never readable; the log says which.',
  ),
  origin_refused: entry(
    'client',
    403,
    'no',
    'origin not allowed',
    'The Origin or Host header is not one this MCP endpoint serves (DNS rebinding protection).',
  ),

  // MCP: transport (Streamable HTTP)
  mcp_not_acceptable: entry(
    'client',
    406,
    'no',
    'client must accept application/json or text/event-stream',
    'The Accept header excludes every form the answer could take.',
    -32000,
  ),
  mcp_unsupported_media: entry(
    'client',
    415,
    'no',
    'content-type must be application/json',
    'A JSON-RPC message is posted as application/json.',
    -32000,
  ),
  mcp_method_not_allowed: entry(
    'client',
    405,
    'no',
    'method not allowed',
    'An MCP endpoint takes POST, GET and DELETE.',
    -32000,
  ),
  mcp_parse_error: entry('client', 400, 'no', 'parse error', 'The body is not JSON.', -32700),
  mcp_invalid_request: entry(
    'client',
    400,
    'no',
    'invalid request',
    'The body is JSON but not a JSON-RPC 2.0 message, or a batch where the protocol revision has none.',
    -32600,
  ),
  mcp_session_required: entry(
    'client',
    400,
    'no',
    'session header is required',
    'Every message but initialize carries Mcp-Session-Id.',
    -32000,
  ),
  mcp_session_unknown: entry(
    'client',
    404,
    'no',
    'session not found',
    'The session ended, never existed, or belongs to another caller; the client must initialize again.',
    -32001,
  ),
  mcp_resume_failed: entry(
    'upstream',
    503,
    'later',
    'session cannot be resumed now',
    'Another process began the session, and its MCP server could not be asked whether it knows it still; the log says why. The session may go on later.',
    -32603,
  ),
  mcp_owner_lost: entry(
    'gateway',
    502,
    'no',
    'session lost',
    'The worker that held the session ended while the request was under way; whether it was carried out is not known. Further requests of a session with a child get 404, and the client initializes again; a session with a server over the network goes on.',
    -32603,
  ),
  mcp_version_unsupported: entry(
    'client',
    400,
    'no',
    'unsupported protocol version',
    'MCP-Protocol-Version names a revision the gateway does not speak.',
    -32022,
  ),
  mcp_stream_exists: entry(
    'client',
    409,
    'no',
    'the session has too many streams',
    'A session may have four GET streams open.',
    -32000,
  ),
  mcp_overloaded: entry(
    'gateway',
    503,
    'later',
    'MCP has no room left',
    'limits.maxMcpSessions, maxChildren, maxMcpCalls or maxMcpStreams of the whole process is reached, and nothing of it has been idle for limits.mcpSessionGrace. The message names the limit. HTTP routes go on.',
    -32000,
  ),
  mcp_budget_full: entry(
    'client',
    429,
    'later',
    'too much of MCP is in use by this caller',
    'The caller has as many MCP sessions, server processes, calls or event streams as one principal may have, and none has been idle for limits.mcpSessionGrace. The message names the limit, such as limits.maxChildrenPerPrincipal. A caller without a token is counted by its address; raise the limit where many clients share an address.',
    -32000,
  ),

  // MCP: calls
  mcp_unknown_tool: entry(
    'client',
    200,
    'no',
    'Unknown tool',
    'The tool does not exist or the rules hide it from this caller.',
    -32602,
  ),
  mcp_unknown_prompt: entry(
    'client',
    200,
    'no',
    'Unknown prompt',
    'The prompt does not exist or the rules hide it from this caller.',
    -32602,
  ),
  mcp_unknown_resource: entry(
    'client',
    200,
    'no',
    'Unknown resource',
    'The resource does not exist or the rules hide it from this caller.',
    -32602,
  ),
  mcp_unknown_task: entry(
    'client',
    200,
    'no',
    'Unknown task',
    'The task does not exist, belongs to another caller, or was made by a tool that the rules hide from this caller now.',
    -32602,
  ),
  mcp_unknown_method: entry(
    'client',
    200,
    'no',
    'Method not found',
    'MCP has no request with this method. Where rules about items stand it is not passed on, because no rule could judge what it names.',
    -32601,
  ),
  mcp_target_failed: entry(
    'upstream',
    200,
    'later',
    'target failed',
    'The MCP server behind the gateway could not be started, ended, answered with a status that means failure, or broke the protocol; the message names the target, the log has its last lines of stderr or what it answered.',
    -32603,
  ),
  mcp_target_unreachable: entry(
    'upstream',
    200,
    'later',
    'target cannot be reached',
    'The MCP server over the network refused the connection, could not be found, failed in TLS, or has no healthy address; the log says which.',
    -32603,
  ),
  mcp_target_busy: entry(
    'upstream',
    429,
    'later',
    'target has too many requests',
    'The MCP server over the network answered 429. Its Retry-After goes on to the client, as a header, or on a stream as `retryAfter` in the data of the error.',
    -32000,
  ),
  mcp_target_refused: entry(
    'upstream',
    200,
    'no',
    'target refuses the gateway',
    'The MCP server over the network answered 401 or 403: what backendAuth sends is missing, expired or not enough. The log has what it answered; its WWW-Authenticate is not passed on, since it speaks of another server than the one the client knows.',
    -32603,
  ),
  mcp_target_timeout: entry(
    'upstream',
    200,
    'later',
    'target did not answer in time',
    'The MCP server did not answer initialize within startTimeout, or a call within its time: toolTimeouts or callTimeout of the target or limits.mcpCallTimeout, and limits.maxMcpCallTime in all. The server was told with notifications/cancelled.',
    -32603,
  ),
  mcp_request_timeout: entry(
    'upstream',
    504,
    'later',
    'request timeout',
    'The MCP server did not answer a call within the timeout policy of the route. The server was told with notifications/cancelled. Where the answer had begun as a stream, the error stands on the stream.',
    -32603,
  ),
  mcp_cancelled: entry(
    'client',
    200,
    'no',
    'request cancelled',
    'The client took the request back with notifications/cancelled; this ends an exchange that can be ended in no other way.',
    -32000,
  ),
  mcp_client_busy: entry(
    'client',
    200,
    'later',
    'the client does not answer',
    'Told to an MCP server that asks its client something (sampling, elicitation, roots) while the client has no stream open or leaves too many questions unanswered.',
    -32000,
  ),
  mcp_request_too_large: entry(
    'client',
    413,
    'no',
    'message too large',
    'A message of the client is over limits.maxMcpMessageBytes (or frontendPolicies.http.maxBufferSize, where only that is set), over limits.maxBodyBytes where that is lower, or has more values than limits.maxJsonNodes; the message has its size and the limit.',
    -32600,
  ),
  mcp_message_too_large: entry(
    'upstream',
    200,
    'no',
    'message too large',
    'A message of the MCP server is over limits.maxMcpMessageBytes.',
    -32603,
  ),
} as const satisfies Record<string, CatalogueEntry>;

export type ErrorCode = keyof typeof catalogue;

export interface GatewayErrorOptions {
  /** For the log only, never for the wire. */
  readonly detail?: string;
  /** Replaces the catalogue's message on the wire; must be safe to show. */
  readonly message?: string;
  /** Seconds, for `Retry-After`. */
  readonly retryAfter?: number;
  readonly headers?: readonly (readonly [string, string])[];
  /** Answers with this as JSON in place of the message as text; must be safe to show. */
  readonly jsonBody?: Readonly<Record<string, unknown>>;
  readonly cause?: unknown;
}

/** A failure with its place in the catalogue. */
export class GatewayError extends Error {
  override readonly name = 'GatewayError';
  readonly code: ErrorCode;
  readonly detail: string | undefined;
  readonly retryAfter: number | undefined;
  readonly headers: readonly (readonly [string, string])[] | undefined;
  readonly jsonBody: Readonly<Record<string, unknown>> | undefined;

  constructor(code: ErrorCode, options: GatewayErrorOptions = {}) {
    super(options.message ?? catalogue[code].message, { cause: options.cause });
    this.code = code;
    this.detail = options.detail;
    this.retryAfter = options.retryAfter;
    this.headers = options.headers;
    this.jsonBody = options.jsonBody;
  }

  get entry(): CatalogueEntry {
    return catalogue[this.code];
  }
}
