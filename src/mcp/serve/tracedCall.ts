/** W3C trace context in calls of MCP servers. */

import type { CallSpan, TracedCall } from '../../http/index.ts';
import { hiddenBeginning } from '../../telemetry/index.ts';
import { cut, memberOf, stringValue, wholeOf, type Envelope } from '../json/envelope.ts';
import { addition } from '../json/objectMembers.ts';
import type { Edit } from '../json/scan.ts';
import { inMeta } from '../messages/requestMeta.ts';
import { clientRequests } from '../messages/mcpMethods.ts';
import type { Outgoing } from '../messages/outgoing.ts';
import { isToolError } from '../messages/toolError.ts';
import type { CallEnd } from '../session/call.ts';
import type { CallStats } from '../session/mcpMetrics.ts';
import type { TaskItem } from '../session/taskRegistry.ts';

/** Characters of a `traceparent` that is read. */
const longest = 256;

/** Characters of a text, and of the name of an item, in a span. */
const maxText = 128;
const maxName = 1_024;

/** The facts about a call for its span. */
export function tracedCall(request: Envelope, target: string, item: TaskItem | undefined): TracedCall {
  const { text, idSpan, method } = request;
  return {
    method: hiddenBeginning(method, maxText),
    isKnown: clientRequests.has(method),
    target,
    id: hiddenBeginning(cut(text, idSpan), maxText),
    item: item && { kind: item.kind, name: hiddenBeginning(item.name, maxName) },
    parent: traceparentIn(request),
  };
}

/** The call with the context of its span: in `_meta`, and in a header for a server over HTTP. */
export function withTrace(out: Outgoing, { traceparent }: CallSpan): Outgoing {
  return {
    ...out,
    edits: [...out.edits, ...traceEdits(out.envelope, traceparent)],
    headers: [...(out.headers ?? []), ['traceparent', traceparent]],
  };
}

/** Counts a call, and ends its span. */
export function tracedStats(stats: Pick<CallStats, 'ended'>, span: CallSpan, method: string): CallEnd {
  let toolFailed = false;
  return {
    answered: (response) => {
      toolFailed = method === 'tools/call' && isToolError(response);
    },
    ended: (outcome, ms) => {
      if (outcome === 'ok') span.end(toolFailed ? 'tool_error' : undefined);
      else span.end(outcome);
      stats.ended(outcome, ms);
    },
  };
}

/** The `traceparent` in a message. */
export function traceparentIn(message: Envelope): string | undefined {
  const place = traceparentOf(message);
  return place === undefined ? undefined : stringValue(message.text, place);
}

function traceparentOf(message: Envelope) {
  const place = inMeta(message, 'traceparent');
  return typeof place === 'object' && place.end - place.start <= longest ? place : undefined;
}

function traceEdits(request: Envelope, traceparent: string): readonly Edit[] {
  const { text, body } = request;
  const value = JSON.stringify(traceparent);
  if (body === undefined)
    return [addition(text, wholeOf(text), `"params":{"_meta":{"traceparent":${value}}}`)];
  const meta = memberOf(text, body, '_meta');
  if (meta === undefined) return [addition(text, body, `"_meta":{"traceparent":${value}}`)];
  if (meta === 'ambiguous' || text[meta.start] !== '{') return [];
  const place = memberOf(text, meta, 'traceparent');
  if (place === 'ambiguous') return [];
  if (place === undefined) return [addition(text, meta, `"traceparent":${value}`)];
  return [{ ...place, replacement: value }];
}
