/** The explanation of a request: what decided, in the order in which it was decided. It survives JSON. */

import type { McpVerdict } from '../mcp/contract.ts';
import type { RuleVerdict, TriedExpression } from '../policies/index.ts';

/** A rule of the routing table that a request was compared with. */
export interface RouteCandidate {
  readonly route: string;
  /** The field path of the route in the configuration. */
  readonly place: string;
  readonly match: string;
  /** `later`: it holds, and a rule before it was chosen. */
  readonly verdict: 'matched' | 'differs' | 'later';
  readonly because?: string;
}

/** A policy of the route and its verdict. */
export interface PolicyVerdict {
  readonly policy: string;
  readonly place: string;
  readonly verdict: 'passed' | 'answered' | 'refused' | 'not evaluated' | 'not reached';
  /** The rule or limit that refused, or the reason why the policy was not evaluated, or not wholly. */
  readonly because?: string;
  readonly rules?: readonly RuleVerdict[];
}

/** The end of a request. */
export interface DecisionOutcome {
  readonly kind: 'forwarded' | 'answered' | 'refused' | 'failed' | 'not evaluated';
  /** Absent where a backend would have answered. */
  readonly status?: number;
  readonly error?: string;
  readonly reason?: string;
  readonly policy?: string;
  readonly rule?: string;
  readonly place?: string;
}

/** A message of an MCP request, with the values of the rules about its item. */
export interface ExplainedMessage extends McpVerdict {
  readonly rules?: readonly RuleVerdict[];
}

export interface Decision {
  readonly bind: string;
  /** Absent where no listener has the host name. */
  readonly listener?: string;
  readonly route?: string;
  readonly routePlace?: string;
  /** At most 16. */
  readonly candidates: readonly RouteCandidate[];
  readonly policies: readonly PolicyVerdict[];
  readonly caller?: { readonly issuer?: string; readonly subject?: string };
  /** The chosen backend; of several, the one that this request would get. */
  readonly backend?: string;
  /** The answer of the backend: its status, or the target that a call of MCP went to. */
  readonly upstream?: { readonly status?: number; readonly target?: string; readonly ms: number };
  /** A verdict for each message of an MCP request. */
  readonly mcp?: readonly ExplainedMessage[];
  readonly outcome: DecisionOutcome;
}

/** A request to explain. */
export interface TrialRequest {
  /** As on the wire: request line, header lines, an empty line, body. Line ends may lack their carriage return. */
  readonly request: string;
  /** The port of the listener; the one of the Host field, or the first of the configuration, where absent. */
  readonly port?: number;
  /** The key of the bind, in place of the port. */
  readonly bind?: string;
  /** The address of the client; 127.0.0.1 where absent. */
  readonly client?: string;
  /** In place of a token. */
  readonly claims?: Readonly<Record<string, unknown>>;
  /** A rule of the route that has another expression for this request only. */
  readonly rule?: ChangedRule;
}

/** A rule in use with another expression. */
export interface ChangedRule {
  /** Field path of the rule, as decisions have it. */
  readonly place: string;
  readonly expression: string;
}

/** An expression to try: on a request, or on a record of a finished one. */
export interface ExpressionTrial extends Omit<TrialRequest, 'request' | 'rule'> {
  readonly expression: string;
  /** As on the wire; a GET of `/` where absent. */
  readonly request?: string;
  /** A record as the stream of requests has it, in place of a request. */
  readonly record?: Readonly<Record<string, unknown>>;
}

/** Its value as JSON data with the name of its type, or why there is none. */
export type ExpressionResult = TriedExpression;
