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
  /**
   * A call that fails so gets the HTTP status, too, while none is sent: the client has to come back later. Calls that fail
   * with other errors of the gateway or of a target get 200 and the JSON-RPC error.
   */
  readonly comeBack?: true;
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

/** An error of a call that asks the client to come back later. */
const comeBack = (of: CatalogueEntry): CatalogueEntry => ({ ...of, comeBack: true });

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
    'Content-Length and Transfer-Encoding conflict, repeat or are malformed, which is a pattern of request smuggling (RFC 9112 §6).',
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
    'The request body is over limits.maxBodyBytes, or over buffer.request.maxBytes of the route. A body that must be held in memory may also be over frontendPolicies.http.maxBufferSize.',
  ),
  uri_too_long: entry('client', 414, 'no', 'uri too long', 'The request target is over limits.maxUriBytes.'),
  expectation_failed: entry(
    'client',
    417,
    'no',
    'expectation failed',
    'The gateway supports only `Expect: 100-continue` (RFC 9110 §10.1.1).',
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
    'The request has a transfer coding other than chunked, or the method CONNECT.',
  ),
  overloaded: entry(
    'gateway',
    503,
    'later',
    'overloaded',
    'limits.maxConnections or limits.maxRequests is reached, or the process is over a threshold of limits.overload. Or too many passwords wait for basicAuth, or too many logins for the identity provider (of one client, or in total). The log says which.',
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
    'The regular expressions of the routes of this host took too much work for this request (1 000 000 units for one request, docs/routing.md). Simplify them, or let them begin with a literal path segment.',
  ),
  ambiguous_path: entry(
    'client',
    400,
    'no',
    'bad request',
    'A backend may read the path in another way (slashes merged, %2F decoded, path parameters removed). That reading belongs to another route or to none, or the rules refuse it. The log has the reading. See docs/routing.md.',
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
    'The route has no backend with a weight above 0, or the selected backend does not exist; the log says why.',
  ),
  route_broken: entry(
    'gateway',
    500,
    'no',
    'route configuration is invalid',
    'A policy of this route could not be prepared. The route stays closed until the configuration, or the file that it names, is corrected. See the log and /config_dump.',
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
    'The host of the request belongs to another listener of this port than the certificate of the connection (RFC 9110 §15.5.20), or the TLS settings of the listener have changed since the handshake. Clients repeat the request on a new connection.',
  ),
  tls_required: entry(
    'client',
    400,
    'no',
    'this port speaks HTTPS',
    'The client sent plain HTTP to a port with only TLS listeners.',
  ),
  trace_refused: entry(
    'client',
    405,
    'no',
    'method not allowed',
    'The method is TRACE, and the route or the backend has backendAuth. A server answers TRACE with the request, so the client would read the credential of the gateway.',
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
    'TLS with the backend failed. Its certificate is not trusted, has expired or is for another name, or the backend demands a client certificate. The log says which. See backendTLS.',
  ),
  upstream_unhealthy: entry(
    'upstream',
    503,
    'later',
    'no healthy upstream',
    'The health checks find no healthy address of the backend; the log has the time of the last check of each address.',
  ),
  upstream_overloaded: entry(
    'gateway',
    503,
    'later',
    'upstream overloaded',
    'All connections of policies.connections.maxConnections are busy and maxPendingRequests other requests wait, or a request has waited for connectTimeout.',
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
    'The response of the backend is not valid HTTP; the log names the rule.',
  ),
  upstream_no_upgrade: entry(
    'upstream',
    501,
    'no',
    'not implemented',
    'The client asked for a WebSocket, but the HTTP/2 backend does not offer extended CONNECT (RFC 8441). Use HTTP/1.1 for the backend (policies.http.version).',
  ),
  upstream_too_large: entry(
    'upstream',
    502,
    'no',
    'upstream answer too large',
    'The route has buffer.response, and the response of the backend is over its maxBytes.',
  ),
  upstream_timeout: entry(
    'upstream',
    504,
    'later',
    'request timeout',
    'timeout.requestTimeout or timeout.backendRequestTimeout passed before the answer was complete, or limits.responseTimeout before it began.',
  ),

  // The console
  console_anonymous: entry(
    'client',
    403,
    'no',
    'forbidden',
    'A policy of ui.policies let a request in without a credential, such as jwtAuth with mode optional. The console needs an authenticated caller.',
  ),
  console_unavailable: entry(
    'gateway',
    503,
    'later',
    'the console is not available',
    'The main process of the gateway did not answer a request for the console. The log names the reason.',
  ),

  // Pages of other sites
  cross_site: entry(
    'client',
    403,
    'no',
    'requests of other sites are refused',
    'The policy csrf refused a request that may change something, because the page of another origin sent it. The log names the header that shows it. If the page is one of yours, add its origin to additionalOrigins.',
  ),
  ext_authz_denied: entry(
    'client',
    403,
    'no',
    'forbidden',
    'The service of extAuthz refuses the request, and gives no response of its own. The log names the policy and its place.',
  ),
  ext_authz_failed: entry(
    'upstream',
    403,
    'later',
    'forbidden',
    'The service of extAuthz was not reached, did not answer in time, or gave an answer that is no decision. The log has the reason. failureMode says what happens where the service gives no answer.',
  ),

  // Tokens and rules (RFC 6750)
  token_missing: entry(
    'client',
    401,
    'no',
    'JWT token required',
    'The route needs a bearer token and the request has none.',
  ),
  token_misplaced: entry(
    'client',
    400,
    'no',
    'the token is in a field that must not hold it',
    'An expression found the token of the request, and the token is also in a field that frames the message or that the gateway, a proxy or a browser writes. The gateway cannot remove such a field. The log names the field.',
  ),
  token_invalid: entry(
    'client',
    401,
    'no',
    'the token is not valid',
    'The gateway refused the token; the log says why (signature, issuer, audience, lifetime, shape).',
  ),
  credentials_missing: entry(
    'client',
    401,
    'no',
    'credentials required',
    'The route has basicAuth or apiKey in strict mode, and the request has neither password nor key in the configured location.',
  ),
  credentials_invalid: entry(
    'client',
    401,
    'no',
    'the credentials are not valid',
    'The gateway refused the password or API key; the log says why, without naming user or key.',
  ),
  too_many_attempts: entry(
    'client',
    429,
    'later',
    'too many attempts',
    'One client (an IPv4 address or the /64 of an IPv6 address) tried too many passwords for one user: ten at once, then one every six seconds. Retry-After says when the client may try the next one. Other clients, and pairs that were correct before, are not affected.',
  ),
  rate_limited: entry(
    'client',
    429,
    'later',
    'rate limit exceeded',
    'The bucket of localRateLimit is empty, or the service of remoteRateLimit says so; x-ratelimit-reset is the number of seconds to the next filling.',
    429,
  ),
  rate_limit_unavailable: comeBack(
    entry(
      'gateway',
      503,
      'later',
      'rate limit unavailable',
      'The counter of localRateLimit did not answer. With several workers, the main process counts: the machine is overloaded, or the counter was restarted. With scope: global and failureMode: failClosed, the shared store counts; the log says why it cannot. The gateway admits no request without counting it.',
    ),
  ),
  rate_limit_service_failed: entry(
    'upstream',
    500,
    'later',
    'rate limit service failed',
    'The service of remoteRateLimit with failureMode: failClosed was not reached, did not answer in time, or gave no verdict. The log has the reason. Nothing was sent on.',
  ),
  authorization_denied: entry(
    'client',
    403,
    'no',
    'authorization failed',
    'The rules of the route refuse this caller; the log names the rule.',
  ),
  scope_missing: entry(
    'client',
    403,
    'no',
    'insufficient scope',
    'The token of the caller lacks scopes that a rule requires (requireScopes). WWW-Authenticate names all scopes that the request needs.',
  ),
  login_required: entry(
    'client',
    401,
    'no',
    'login required',
    'The route has oidc, and the request has no valid login. The gateway sends only navigations of browsers to the identity provider: GET with Sec-Fetch-Mode: navigate, or with Accept: text/html. Programs and scripts of pages get this error.',
  ),
  login_invalid: entry(
    'client',
    400,
    'no',
    'the login could not be completed; open the page again',
    'A callback of oidc does not fit a login that this browser began in the last 10 minutes, or the identity provider has refused the login. The log says which. If it happens to every login, the browser reaches the page by another host than that of redirectURI.',
  ),
  login_failed: entry(
    'upstream',
    500,
    'later',
    'the identity provider did not answer as expected',
    'oidc could not ask the identity provider, or its answer is wrong: metadata of another issuer, a refused client, an ID token that does not verify. The log has the reason. Logins that are complete are not affected.',
  ),
  backend_login_required: entry(
    'client',
    401,
    'no',
    'the backend needs another login',
    'backendAuth makes the credential for the backend of a token of the caller. The request has no such token, or the authorization server refuses it (invalid_grant), or its may_act does not name the actor. The log says which. The caller logs in again: WWW-Authenticate names the metadata of mcpAuthentication.',
    -32603,
  ),
  backend_login_denied: entry(
    'client',
    403,
    'no',
    'the backend does not accept the caller',
    'As backend_login_required, on a route without mcpAuthentication: the gateway knows no login that it could tell the client about.',
    -32603,
  ),
  backend_auth_failed: entry(
    'upstream',
    502,
    'later',
    'no credential for the backend',
    'backendAuth could not get a credential: the authorization server was not reached, refused the gateway, or gave an answer without a token. The log has the address and the OAuth error. The gateway sends nothing to the backend.',
    -32603,
  ),
  mcp_caller_value_missing: entry(
    'client',
    401,
    'no',
    'the caller has no value for a variable of the server',
    'The environment of a stdio target has a variable with a claim of the caller (env), and the token has no such text. The message names the target, the variable and the claim, and the log the place of the variable. The gateway starts no child for this caller. WWW-Authenticate names the metadata of mcpAuthentication, because another login may give a token with the claim.',
    -32603,
  ),
  mcp_caller_value_denied: entry(
    'client',
    403,
    'no',
    'the caller has no value for a variable of the server',
    'As mcp_caller_value_missing, on a route without mcpAuthentication: the gateway knows no login that it could tell the client about.',
    -32603,
  ),
  mcp_caller_header_missing: entry(
    'client',
    400,
    'no',
    'the request has no header for a variable of the server',
    'The environment of a stdio target has a variable with a header of the request (env), and the request has no such header, or one that no environment can hold. The message names the target, the variable and the header, and the log the place of the variable. Add the header to the settings of the client. The gateway starts no child for this caller.',
    -32603,
  ),
  mcp_user_required: entry(
    'client',
    401,
    'no',
    'the server needs a caller with an identity',
    'The stdio target has scope: user, so each user has a child, and the request has no proven identity. WWW-Authenticate names the metadata of mcpAuthentication, which lets callers in without a token here; in strict mode it does not.',
    -32603,
  ),
  mcp_user_denied: entry(
    'client',
    403,
    'no',
    'the server needs a caller with an identity',
    'As mcp_user_required, on a route without mcpAuthentication: the gateway knows no login that it could tell the client about. Add a policy that authenticates callers.',
    -32603,
  ),
  keys_unavailable: entry(
    'gateway',
    503,
    'later',
    'the key set of the token issuer is not available',
    'The gateway has not fetched the JWKS yet. It keeps trying in the background; routes that do not need it are not affected.',
  ),
  issuer_metadata_unavailable: entry(
    'gateway',
    503,
    'later',
    'the metadata of the token issuer is not available',
    'The authorization server did not return its metadata (RFC 8414), or returned that of another issuer. The log names the addresses. Only /.well-known/oauth-authorization-server and logins at the gateway are affected.',
  ),
  policy_failed: entry(
    'gateway',
    500,
    'no',
    'a policy of the route failed',
    'An expression of a policy failed for this request or gave an unusable value, or a file that a policy needs was never readable. The log says which.',
  ),
  origin_refused: entry(
    'client',
    403,
    'no',
    'origin not allowed',
    'The MCP endpoint does not accept this Origin or Host header (DNS rebinding protection).',
  ),

  // MCP: transport (Streamable HTTP)
  mcp_not_acceptable: entry(
    'client',
    406,
    'no',
    'client must accept application/json or text/event-stream',
    'The Accept header excludes every form of response.',
    -32000,
  ),
  mcp_unsupported_media: entry(
    'client',
    415,
    'no',
    'content-type must be application/json',
    'The Content-Type of a JSON-RPC message must be application/json.',
    -32000,
  ),
  mcp_method_not_allowed: entry(
    'client',
    405,
    'no',
    'method not allowed',
    'An MCP endpoint accepts only POST, GET and DELETE, and only POST where statefulMode is stateless.',
    -32000,
  ),
  mcp_parse_error: entry('client', 400, 'no', 'parse error', 'The body is not JSON.', -32700),
  mcp_invalid_request: entry(
    'client',
    400,
    'no',
    'invalid request',
    'The body is JSON but not a JSON-RPC 2.0 message, a batch in a protocol revision without batches, or a batch in which two requests have the same id.',
    -32600,
  ),
  mcp_session_required: entry(
    'client',
    400,
    'no',
    'session header is required',
    'Every message except initialize must have Mcp-Session-Id.',
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
    'Another process began the session. Its MCP server or the shared store could not be asked whether the session still exists, or its program could not be started. The log says why. The session may continue later.',
    -32603,
  ),
  mcp_events_unavailable: entry(
    'gateway',
    503,
    'later',
    'events cannot be read now',
    'The client resumes a stream of another gateway, and the shared store did not answer. The log says why. The events may be there later.',
    -32603,
  ),
  mcp_call_lost: entry(
    'gateway',
    502,
    'no',
    'call lost: its gateway ended',
    'The client resumes a stream whose gateway ended before it wrote the response to the store. The server may have carried out the call.',
    -32603,
  ),
  mcp_owner_lost: entry(
    'gateway',
    502,
    'no',
    'session lost',
    'The worker that held the session ended during the request, which may or may not have been executed. Further requests of a session with a child get 404, and the client initializes again. A session with a server over HTTP continues.',
    -32603,
  ),
  mcp_version_unsupported: entry(
    'client',
    400,
    'no',
    'unsupported protocol version',
    'MCP-Protocol-Version names an unsupported revision.',
    -32022,
  ),
  mcp_stream_exists: entry(
    'client',
    409,
    'no',
    'the session has too many streams',
    'The session already has four open GET streams.',
    -32000,
  ),
  mcp_overloaded: comeBack(
    entry(
      'gateway',
      503,
      'later',
      'MCP has no room left',
      'limits.maxMcpSessions, maxChildren, maxMcpCalls or maxMcpStreams of the whole process is reached, and no session has been idle for limits.mcpSessionGrace. The message names the limit. HTTP routes continue.',
      -32000,
    ),
  ),
  audit_unavailable: entry(
    'gateway',
    503,
    'later',
    'the audit stream takes no lines',
    'config.audit.required is true, and the audit stream could not store the intent of the request: a full disk, a slow or missing sink. The gateway did not forward the request. The log names the failure. See docs/audit.md.',
    -32000,
  ),
  mcp_budget_full: entry(
    'client',
    429,
    'later',
    'too much of MCP is in use by this caller',
    'The caller has as many MCP sessions, server processes, calls or event streams as one principal may have, and none has been idle for limits.mcpSessionGrace. The message names the limit, such as limits.maxChildrenPerPrincipal or mcpBudgets. A caller without a token counts by its address: raise the limit if many share it.',
    -32000,
  ),
  mcp_budget_unavailable: comeBack(
    entry(
      'gateway',
      503,
      'later',
      'the budget of calls is unavailable',
      'A budget of mcpBudgets has scope: global and failureMode: failClosed, and the shared store cannot count; the log says why. The gateway admits no call without counting it.',
      -32000,
    ),
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
  mcp_item_refused: entry(
    'client',
    200,
    'no',
    'refused by a rule',
    'A rule refuses the use of the tool, prompt or resource, and its rule set says so to the caller (refusal: explained). The log names the rule.',
    403,
  ),
  mcp_guardrail_denied: entry(
    'client',
    200,
    'no',
    'refused by a guardrail',
    'A processor of mcpGuardrails refuses the message (PERMISSION_DENIED). The message of the error is its reason, and the log names the processor.',
    -32001,
  ),
  mcp_guardrail_exhausted: entry(
    'client',
    200,
    'later',
    'refused by a guardrail: too many requests',
    'A processor of mcpGuardrails refuses the message for now (RESOURCE_EXHAUSTED). The message of the error is its reason.',
    -32003,
  ),
  mcp_guardrail_invalid: entry(
    'client',
    200,
    'no',
    'refused by a guardrail: invalid request',
    'A processor of mcpGuardrails takes the message for invalid (INVALID). The message of the error is its reason.',
    -32600,
  ),
  mcp_guardrail_failed: entry(
    'upstream',
    200,
    'later',
    'a guardrail could not be asked',
    'A processor of mcpGuardrails with failureMode: failClosed was not reached, did not answer in time, or gave an answer that the gateway cannot use. The log has the reason. Nothing was sent on.',
    -32603,
  ),
  mcp_scope_missing: entry(
    'client',
    403,
    'no',
    'insufficient scope',
    'The token of the caller lacks scopes that a rule requires for this call (requireScopes). WWW-Authenticate names all scopes that the call needs. In a batch, on an event stream and over HTTP+SSE, the JSON-RPC error has them as data.',
    403,
  ),
  mcp_token_missing: entry(
    'client',
    401,
    'no',
    'JWT token required',
    'A rule requires scopes for this call (requireScopes), and the request has no token. WWW-Authenticate names the scopes.',
    403,
  ),
  mcp_unknown_task: entry(
    'client',
    200,
    'no',
    'Unknown task',
    'The task does not exist, belongs to another caller, or was created by a tool that the rules now hide from this caller.',
    -32602,
  ),
  mcp_definition_changed: entry(
    'client',
    200,
    'no',
    'the definition has changed',
    'The server defines the tool or prompt otherwise than when it was approved, or does not list it, and the backend has pin: enforce. `portcullis pins` shows the difference and approves it.',
    -32602,
  ),
  mcp_invalid_params: entry(
    'client',
    200,
    'no',
    'invalid params',
    'The params of the request cannot be used: for example, the cursor of a list is none of the gateway.',
    -32602,
  ),
  mcp_meta_invalid: entry(
    'client',
    400,
    'no',
    'invalid params',
    'A request of revision 2026-07-28 has no protocol version or client capabilities in its _meta, or they cannot be read. The message names the key.',
    -32602,
  ),
  mcp_capability_missing: entry(
    'client',
    400,
    'no',
    'the client has not declared a capability that the request needs',
    'A request of revision 2026-07-28 is about a task, and the client has not declared the tasks extension. Or it failed after a server of an older revision asked the client for what the client has not declared.',
    -32021,
  ),
  mcp_header_mismatch: entry(
    'client',
    400,
    'no',
    'header mismatch',
    'MCP-Protocol-Version, Mcp-Method or Mcp-Name is missing, or differs from the body of the request (revision 2026-07-28).',
    -32020,
  ),
  mcp_unknown_method: entry(
    'client',
    200,
    'no',
    'Method not found',
    'MCP has no request with this method. With rules about items the gateway does not forward it, because no rule could judge its item.',
    -32601,
  ),
  mcp_target_failed: entry(
    'upstream',
    200,
    'later',
    'target failed',
    'The MCP server could not be started, ended, answered with a failure status, or broke the protocol. The message names the target. The log has the last lines of its stderr, or its response.',
    -32603,
  ),
  mcp_target_unreachable: entry(
    'upstream',
    200,
    'later',
    'target cannot be reached',
    'The MCP server over HTTP refused the connection, could not be found, failed in TLS, or has no healthy address. The log says which.',
    -32603,
  ),
  mcp_target_busy: comeBack(
    entry(
      'upstream',
      429,
      'later',
      'target has too many requests',
      'The MCP server over HTTP answered 429. The client gets its Retry-After as a header, or on a stream as `retryAfter` in the data of the error.',
      -32000,
    ),
  ),
  mcp_target_refused: entry(
    'upstream',
    200,
    'no',
    'target refuses the gateway',
    'The MCP server over HTTP answered 401 or 403: the credentials of backendAuth are missing, expired or not sufficient. The log has its response. The gateway does not forward its WWW-Authenticate, which describes another server than the one that the client knows.',
    -32603,
  ),
  mcp_target_timeout: entry(
    'upstream',
    200,
    'later',
    'target did not answer in time',
    'The MCP server did not answer initialize within startTimeout, or a call within its timeout: mcpTimeouts of the route, toolTimeouts or callTimeout of the target, or limits.mcpCallTimeout, and limits.maxMcpCallTime in total. The server got notifications/cancelled.',
    -32603,
  ),
  mcp_request_timeout: comeBack(
    entry(
      'upstream',
      504,
      'later',
      'request timeout',
      'The MCP server did not answer a call within the timeout policy of the route. The server got notifications/cancelled. If the response had begun as a stream, the error is on the stream.',
      -32603,
    ),
  ),
  mcp_cancelled: entry(
    'client',
    200,
    'no',
    'request cancelled',
    'The client cancelled the request with notifications/cancelled. The error ends an exchange that cannot end in another way.',
    -32000,
  ),
  mcp_client_busy: entry(
    'client',
    200,
    'later',
    'the client does not answer',
    'The gateway sends this error to an MCP server that asks its client something (sampling, elicitation, roots) while the client has no open stream or leaves too many requests unanswered.',
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
  mcp_response_broken: entry(
    'upstream',
    200,
    'later',
    'response broke off',
    'The gateway had begun to forward a large response when the MCP server failed or the client lost its stream. A client that comes back for the response gets this error. The log says why it broke off.',
    -32603,
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

/** The decision behind a refusal or an answer of the gateway, for the log only. */
export interface DecidedBy {
  /** The name of the policy, as in the configuration. */
  readonly policy?: string;
  /** The name of the rule, or its effect and text. */
  readonly rule?: string;
  /** The field path of the rule or policy in the configuration, such as `routes[2].policies.cors`. */
  readonly place?: string;
}

export interface GatewayErrorOptions {
  /** For the log only, never for the wire. */
  readonly detail?: string | undefined;
  /** Replaces the catalogue's message on the wire; must be safe to show. */
  readonly message?: string | undefined;
  /** Seconds, for `Retry-After`. */
  readonly retryAfter?: number | undefined;
  readonly headers?: readonly (readonly [string, string])[] | undefined;
  /** Answers with this as JSON in place of the message as text, or as the data of a JSON-RPC error; must be safe to show. */
  readonly jsonBody?: Readonly<Record<string, unknown>> | undefined;
  /** Answers HTTP with these bytes of their media type in place of the message as text; must be safe to show. */
  readonly body?: { readonly type: string; readonly bytes: Buffer } | undefined;
  readonly cause?: unknown;
  /** A `place` is below that of the policy, which the data plane knows. */
  readonly by?: DecidedBy | undefined;
  /** A JSON-RPC code in place of that of the catalogue. */
  readonly rpcCode?: number | undefined;
}

/** Thrown in place of a verdict that would need another process, or change a counter, where a request is only explained. */
export class NotEvaluated extends Error {
  override readonly name = 'NotEvaluated';
}

/** A failure with its place in the catalogue. */
export class GatewayError extends Error {
  override readonly name = 'GatewayError';
  readonly code: ErrorCode;
  readonly detail: string | undefined;
  readonly retryAfter: number | undefined;
  readonly headers: readonly (readonly [string, string])[] | undefined;
  readonly jsonBody: Readonly<Record<string, unknown>> | undefined;
  readonly body: GatewayErrorOptions['body'];
  readonly by: DecidedBy | undefined;
  /** A JSON-RPC code in place of that of the catalogue. */
  readonly rpcCode: number | undefined;

  constructor(code: ErrorCode, options: GatewayErrorOptions = {}) {
    super(options.message ?? catalogue[code].message, { cause: options.cause });
    this.code = code;
    this.detail = options.detail;
    this.retryAfter = options.retryAfter;
    this.headers = options.headers;
    this.jsonBody = options.jsonBody;
    this.body = options.body;
    this.by = options.by;
    this.rpcCode = options.rpcCode;
  }

  get entry(): CatalogueEntry {
    return catalogue[this.code];
  }

  /** The same failure, of which more is known. Errors may be shared by requests, so they do not change. */
  with(changes: GatewayErrorOptions): GatewayError {
    const { code, message, cause } = this;
    return new GatewayError(code, { ...this, message, cause, ...changes });
  }
}

/** Finds the place of a thrown value in the catalogue: a value of another class is an error of the gateway itself. */
export const asGatewayError = (thrown: unknown): GatewayError =>
  thrown instanceof GatewayError ? thrown : new GatewayError('internal_error', { cause: thrown });
