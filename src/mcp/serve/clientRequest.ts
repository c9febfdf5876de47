import type { HttpReply, HttpRequest } from '../../http/index.ts';
import type { Limits, McpBackend } from '../../model/index.ts';
import type { Caller } from '../contract.ts';
import { holderOf, type Budgets } from '../limits/budgets.ts';
import type { PostAudit } from '../session/postAudit.ts';
import type { McpMetrics } from '../session/mcpMetrics.ts';
import type { HeldSessions } from '../modern/heldSessions.ts';
import type { Session } from '../session/session.ts';
import type { Sessions } from '../session/sessions.ts';
import type { TargetStarts } from '../session/targetStarts.ts';
import type { SseStream } from './sseStream.ts';

/** The parts of the process that serve one MCP backend. */
export interface HandlerOptions {
  readonly settings: McpBackend;
  readonly sessions: Sessions;
  readonly mcpMetrics: McpMetrics;
  /** The last start of each target. */
  readonly starts: TargetStarts;
  readonly budgets: Budgets;
  /** The sessions of clients of the modern era. */
  readonly held: HeldSessions;
  /** The sessions of HTTP+SSE, each with its stream. */
  readonly sseStreams: Map<Session, SseStream>;
  readonly limits: () => Limits;
  /** The version of this program. */
  readonly version: string;
  /** Milliseconds since the epoch; the clock that tokens are judged by. */
  readonly now: () => number;
}

/** An HTTP request of a client to an MCP backend. */
export interface ClientRequest {
  readonly request: HttpRequest;
  readonly reply: HttpReply;
  readonly caller: Caller;
  /** The recorded operations of the request; absent where nothing is recorded. */
  readonly audit?: PostAudit;
}

/**
 * Makes sure that the caller may begin so many more calls.
 * @throws GatewayError mcp_budget_full, mcp_overloaded
 */
export function checkCalls({ sessions, budgets }: HandlerOptions, caller: Caller, more: number): void {
  const holder = holderOf(caller);
  const stop = budgets.calls.exceeded(holder, more);
  if (stop === undefined) return;
  // Calls whose client has left give way first.
  sessions.dropAbandoned(stop === 'each' ? holder : undefined);
  budgets.calls.check(holder, more);
}
