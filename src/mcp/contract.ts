/** The types on which `mcp` and its neighbours agree. */

import type { DecidedBy, GatewayError } from '../errors.ts';
import type { HeaderLine, RequestSigner, SentCredential } from '../http/index.ts';
import type { McpTarget } from '../model/index.ts';
import type { Destination } from '../upstream/index.ts';

/** A thing an MCP server offers, as rules see it. */
export interface McpItem {
  readonly kind: 'tool' | 'prompt' | 'resource';
  /** Name of the target that serves it. */
  readonly target: string;
  /** The target's own name for it (a URI for resources), without a prefix of ours. */
  readonly name: string;
}

/** A JSON value. Whole numbers are `bigint`, whatever they are written like (`1`, `1.0`, `1e2`). */
export type PlainValue = null | boolean | string | bigint | number | readonly PlainValue[] | PlainObject;
export type PlainObject = ReadonlyMap<string, PlainValue>;

/** The conditions for reading a JSON value. */
export interface PlainReading {
  /**
   * Takes units of work (about 10 ns each) for what is read next.
   * @returns false to stop
   */
  readonly spend: (units: number) => boolean;
  /** Names that members are looked up by: a member that differs from one of them in case only has two readings. */
  readonly names: ReadonlySet<string>;
}

/** A use of an item, for rules about more than the item. A list uses no item. */
export interface ItemCall {
  readonly method: string;
  /** As the client sends it; undefined outside of sessions. */
  readonly sessionId: string | undefined;
  /**
   * Every name of the item that its server may read, as written first; undefined where there are too many to judge.
   * Absent where the name of the item is the only one.
   */
  readonly readNames?: () => readonly string[] | undefined;
  /** Reads the arguments of `tools/call`; absent where the message has none to judge. */
  readonly readArguments?: (
    reading: PlainReading,
  ) => { readonly value: PlainValue } | { readonly fault: string };
  /** The task that the message is about. Its item was called before, with arguments that were judged then. */
  readonly task?: {
    /** As the server calls it. */
    readonly name: string;
    readonly target: string;
  };
}

/** The time that a call may take without progress, as policies say it, in milliseconds. */
export interface CallTime {
  /** Takes the place of the settings of the target and of the process; absent where no condition matches. */
  readonly ms?: number;
  /** An upper limit, whatever the time is otherwise. */
  readonly atMostMs?: number;
}

/** The judgement about one message of an MCP request, as far as the configuration alone tells it. */
export interface McpVerdict {
  readonly method: string;
  readonly kind?: McpItem['kind'];
  /** The name that the client uses. */
  readonly item?: string;
  /** The owner of the item; absent where the lists of the servers decide. */
  readonly target?: string;
  /** The name that the owner uses. */
  readonly name?: string;
  readonly verdict: 'forwarded' | 'refused' | 'not evaluated';
  readonly because?: string;
  readonly policy?: string;
  readonly rule?: string;
  readonly place?: string;
  /** The code of the JSON-RPC error. */
  readonly errorCode?: number;
  /** The HTTP status of a refusal; absent where the refusal has the status of a response. */
  readonly status?: number;
  /** The failure that the access log names for such a refusal. */
  readonly error?: string;
}

/** The reason why a caller may not use an item. */
export interface ItemRefusal {
  /** The policy that holds the rule; absent where a setting of the backend refuses, such as a view. */
  readonly policy?: string;
  /** The name of the rule, or else its effect and expression; or the setting of the backend. For the log only. */
  readonly rule: string;
  /** The place of the rule: below its policy, such as `.rules[0]`, or in the configuration. */
  readonly place?: string;
  /** The reason why no rule can judge the arguments of the call. */
  readonly fault?: string;
  /** The explanation for the caller; absent: the item is refused like an unknown one. */
  readonly message?: string;
  /** The caller may use the item with a token that has more scopes. */
  readonly stepUp?: StepUp;
}

export interface StepUp {
  /** All scopes that the call needs. */
  readonly scopes: readonly string[];
  /** The value of `WWW-Authenticate`. */
  readonly challenge: string;
  /** The caller has no token. */
  readonly isAnonymous: boolean;
}

/** The tools and arguments that one rule is about. */
export interface ToolNames {
  /** The policy, the rule and its place, for the log. */
  readonly by: { readonly policy?: string; readonly rule?: string; readonly place?: string };
  readonly tools: readonly string[];
  readonly arguments: readonly string[];
  /** The rule is true for no prompt and no resource. */
  readonly onlyTools: boolean;
  /** Can the rule be true for a tool, whoever calls it with whatever arguments? */
  readonly mayMatch: (tool: string, target: string) => boolean;
}

/** A message that a policy checks: a request before it goes to its targets, or its result. */
export interface CheckedMessage {
  /** The targets that get the request, or that gave the result. */
  readonly targets: readonly string[];
  /** JSON text of an object: the params or the result; absent for a request without params. */
  readonly json: string | undefined;
}

/** The verdict of a check about a message. */
export type Checked =
  | {
      /** JSON text that takes the place of the params or the result; absent: the message stays as it is. */
      readonly json?: string;
      /** Header lines for servers over HTTP. */
      readonly headers?: readonly HeaderLine[];
      /** The service that checks could not be asked, and the policy lets the message pass. */
      readonly unchecked?: true;
    }
  | { readonly refused: CheckRefusal };

export interface CheckRefusal {
  readonly by: ItemRefusal;
  readonly error: GatewayError;
  /** A refused tool call answers with a result that is an error, so that the model can read the reason. */
  readonly asToolResult: boolean;
}

/** Checks one message. Never rejects. */
export type McpCheck = (message: CheckedMessage) => Promise<Checked>;

/** The checks of the messages of one method, in order. */
export interface McpChecks {
  readonly request: readonly McpCheck[];
  readonly result: readonly McpCheck[];
}

/** The way in which a request for this caller reaches a target over the network. */
export interface Reach {
  readonly destination: Destination;
  /** The path and query of the endpoint, with the additions of policies. */
  readonly path: string;
  /** The `Host` that a policy sets; that of the address where absent. */
  readonly authority?: string;
  /**
   * The headers that policies add to the request; names in lower case. Credentials are among them: never for a
   * log.
   */
  readonly headers: readonly HeaderLine[];
  /** Signs each request; absent where no policy does. */
  readonly signer?: RequestSigner;
  /** Whose the credentials of policies are. At their places, nothing of the client goes to the target. */
  readonly credentials?: readonly SentCredential[];
  /** From a call to its response, in milliseconds; undefined: as long as it takes. */
  readonly callTimeoutMs: number | undefined;
  /** The target in the configuration of the request; absent: as the session began with it. */
  readonly settings?: McpTarget;
}

/** The values of environment variables that a child process gets for this caller. Never for a log. */
export interface ChildEnvironment {
  readonly values: Readonly<Record<string, string>>;
  /** Tells these values from others, and gives nothing of them away. */
  readonly digest: string;
  /** The end of the first value that ends, in milliseconds since the epoch; absent where none says. */
  readonly expiresAt?: number;
}

/**
 * All that rules about items look at, beside the item: while both are the same objects, the rules decide alike on every
 * item.
 */
export interface RulesBasis {
  readonly rules: object;
  readonly identity: object;
}

/** The caller of an MCP endpoint. */
export interface Caller {
  /** The proven identity of the caller, as opaque text; absent for anonymous callers. Sessions belong to it. */
  readonly principal: string | undefined;
  /**
   * The holder of the budgets: the principal, or the network of its address if nothing was proven. Absent: the
   * principal.
   */
  readonly holder?: string | undefined;
  /**
   * Reaches targets over the network for this caller. Calls of the request go this way, whenever they are sent; all other
   * messages of the session do so until its next request.
   * @throws GatewayError policy_failed
   */
  readonly reach?: ((target: string) => Reach | undefined) | undefined;
  /** `reach` answers every caller alike, and is the same function until the configuration changes. */
  readonly reachesAlike?: boolean | undefined;
  /**
   * Tells the caller's own credentials for targets over the network, and those that are made for the caller, from those of
   * others, and gives nothing of them away. A credential that was refused counts, too. Undefined where the caller has none;
   * absent where no target gets one.
   */
  readonly credentialsDigest?: (() => string | undefined) | undefined;
  /**
   * The values of the caller for a target that runs as a child process; undefined for targets whose children are alike
   * for all callers. Absent where all are.
   * @throws GatewayError mcp_caller_value_missing, mcp_caller_value_denied, mcp_caller_header_missing, backend_login_required,
   * backend_login_denied, backend_auth_failed, policy_failed
   */
  readonly environment?: ((target: string) => ChildEnvironment | undefined) | undefined;
  /**
   * The time that a call may take without progress, in milliseconds, by the policies of the route; absent where they do not say.
   */
  readonly callTimeoutMs?: number | undefined;
  /**
   * Until when the token that proved it is accepted, in milliseconds since the epoch; a stream of news does not outlive
   * it.
   */
  readonly expiresAt?: number | undefined;
  /**
   * The reason why the caller may not use the item, or without a call: not see it. Undefined where the rules allow it:
   * without a call, where they may allow some call of it. Absent where the route has no rule about items.
   */
  readonly refusalOf?: ((item: McpItem, call?: ItemCall) => ItemRefusal | undefined) | undefined;
  /** The rules behind `refusalOf` as text: other text, other rules. Absent where the route has no rule about items. */
  readonly itemRules?: string | undefined;
  /** The names in the rules of the route; they are compared with the lists of the servers. Absent without any. */
  readonly toolNames?: readonly ToolNames[] | undefined;
  /** The checks of policies for the requests of a method; absent where no policy checks messages. */
  readonly checksOf?: ((method: string) => McpChecks) | undefined;
  /**
   * Counts a use of an item that the rules allow. Absent where no policy counts uses.
   * @returns what hears of the end of the use, if anything does
   * @throws GatewayError if the caller has used its share
   */
  readonly count?: ((item: McpItem, call: ItemCall) => Promise<(() => void) | undefined>) | undefined;
  /** The time that a use of an item may take. Absent where no policy says it for single calls. */
  readonly callTime?: ((item: McpItem, call: ItemCall) => CallTime | undefined) | undefined;
  /**
   * The basis of `refusalOf` so far; undefined where its rules look at more of the request, or were too much work for
   * them. Absent like `refusalOf`.
   */
  readonly rulesBasis?: (() => RulesBasis | undefined) | undefined;
  /**
   * Says that the answer goes on for as long as the client stays. `end` is called once the rules that let the caller in
   * may say something else. From then on, the rules judge each item on a budget of its own. Absent where no
   * configuration can change.
   * @returns what takes it back
   */
  readonly whileAllowed?: ((end: () => void) => () => void) | undefined;
  /** Absent where nothing is recorded. */
  readonly audit?: RequestAudit | undefined;
}

/** The functions of a caller that lead to targets. They hold less of its request than the caller does. */
export type CallerWays = Pick<Caller, 'reach' | 'reachesAlike' | 'credentialsDigest' | 'environment'>;

/** An operation of a client, as the audit stream has it before it begins. */
export interface OperationStart {
  /** The method of the message as the client wrote it; `session/delete` or `stream/open` where there is no message. */
  readonly operation: string;
  /** Characters of the message, which is kept until `read` has read it. */
  readonly size: number;
  /** Reads the message. Absent where the HTTP request itself is the operation. */
  read?(): OperationDetails;
}

/** The message of an operation. */
export interface OperationDetails {
  /** The JSON-RPC id as the client wrote it. */
  readonly id: string;
  /** Bytes of the message. */
  readonly bytes: number;
  /** The item with the name that the client used. */
  readonly item: { readonly kind: McpItem['kind'] | 'task'; readonly name: string } | undefined;
  /** JSON text. */
  readonly arguments: string | undefined;
  /** The `traceparent` in the message. */
  readonly traceparent: string | undefined;
}

/** The end of an operation, as the answer to the client shows it. */
export interface OperationEnd {
  readonly outcome: 'ok' | 'tool_error' | 'error' | 'refused' | 'cancelled' | 'input_required';
  /** The JSON-RPC error code. */
  readonly code?: number | undefined;
  /** The code of the catalogue of errors. */
  readonly error?: string | undefined;
  /** Bytes of the response. */
  readonly bytes?: number | undefined;
  readonly target?: string | undefined;
  /** The rule or setting that refused the operation. */
  readonly refusal?: ItemRefusal | string | undefined;
  /** The policy and the rule behind a refusal that is a text. */
  readonly by?: DecidedBy | undefined;
}

/** The answer to an operation. */
export interface OperationAnswer {
  /** Characters of the response, which is kept until `read` has read it. */
  readonly size: number;
  /** Reads the end of the operation. It is asked once. */
  read(): OperationEnd;
}

/** An operation that the audit stream follows. Only its first end counts. */
export interface OperationRecord {
  answered(answer: OperationAnswer): void;
}

/** Records the operations of a request in the audit stream. */
export interface RequestAudit {
  readonly showsArguments: boolean;
  /**
   * @returns undefined where the stream does not include the operation
   * @throws GatewayError audit_unavailable
   */
  begin(operation: OperationStart): OperationRecord | undefined;
  /** Resolves when the request may be carried out; undefined: at once. Rejects with GatewayError audit_unavailable. */
  readonly settled: Promise<void> | undefined;
  /** The operations have an answer of their own, which may end them after the HTTP exchange. */
  outlive(): void;
}
