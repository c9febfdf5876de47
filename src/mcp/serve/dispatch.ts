import { GatewayError } from '../../errors.ts';
import type { HttpRequest } from '../../http/index.ts';
import type { McpBackend, McpTarget } from '../../model/index.ts';
import { isOverNetwork } from '../targets/facts.ts';
import type { PostResponse } from '../session/postResponse.ts';
import type { Tally } from '../limits/budget.ts';
import { Call } from '../session/call.ts';
import { completedBy, itemOf, listShape, type NamedItem, type UnclearItem } from '../items/items.ts';
import { CompletionFilter, ContentsFilter, maxShown, unknownItemError } from '../items/itemFilters.ts';
import type { CallLimit } from '../limits/callTimeouts.ts';
import { cut, maxIdLength, memberOf, type Envelope, type Span } from '../json/envelope.ts';
import type { Edit } from '../json/scan.ts';
import type { ItemRules } from '../items/itemRules.ts';
import { ListFilter } from '../items/listFilter.ts';
import type { McpMetrics } from '../session/mcpMetrics.ts';
import { clientRequests, handlingOf } from '../messages/mcpMethods.ts';
import { errorResponse } from '../messages/rpcError.ts';
import type { Session } from '../session/session.ts';
import type { TargetConnection } from '../targets/kind/target.ts';
import type { TaskItem } from '../session/taskRegistry.ts';
import { ResponseFilters, type ResponseFilter } from '../items/responseFilter.ts';

/** Between a target's name and the name of its tool. */
const delimiter = '_';

/** The prefix of the names of a target's tools and prompts; empty for none. */
export function namePrefix(settings: McpBackend, target: string): string {
  return settings.prefixMode === 'always' ? target + delimiter : '';
}

/** The reasons to refuse a request before its item is looked at. */
const faults: Readonly<Record<UnclearItem | 'long', string>> = {
  ambiguous: 'a member is repeated',
  malformed: 'the name is not a string, or too long',
  unnamed: 'it names no item',
  long: 'the progress token is too long',
};

export interface Dispatch {
  readonly settings: McpBackend;
  readonly session: Session;
  readonly answer: PostResponse;
  /** Undefined where the route has no rule about items. */
  readonly itemRules: ItemRules | undefined;
  readonly http: HttpRequest;
  readonly mcpMetrics: McpMetrics;
  /** Counts a call for its caller. */
  readonly enter: () => Tally;
  /** The time that a call may take where its target does not say it. */
  readonly callLimit: CallLimit;
}

const invalid = (why: string): GatewayError =>
  new GatewayError('mcp_invalid_request', { message: `invalid request: ${why}` });

/**
 * Judges one message of a client.
 * @returns what carries out the verdict. The messages of a batch are all judged before any is sent
 * @throws GatewayError mcp_invalid_request for a message that takes its whole POST down
 */
export function prepareMessage(x: Dispatch, message: Envelope): () => void {
  const { session } = x;
  if (message.kind === 'response') return () => session.respond(message, x.itemRules);
  x.http.annotate('mcp.method', message.method.slice(0, maxShown));
  if (message.kind === 'request') return prepareRequest(x, message);
  const handling = handlingOf(message.method, session.protocolVersion, x.itemRules !== undefined);
  if (handling === 'refused') throw invalid(`${message.method.slice(0, maxShown)} without an id`);
  if (handling === 'forwarded') return () => session.notify(message, x.itemRules);
  return () => session.log.debug('Notification dropped: the protocol version does not define it');
}

/** Sends a request to the target that serves it, unless a rule hides what it asks for. */
function prepareRequest(x: Dispatch, request: Envelope): () => void {
  const { itemRules } = x;
  const idText = request.text.slice(request.idSpan.start, request.idSpan.end);
  const refuse = (error: GatewayError) => () => x.answer.respond(errorResponse(error, idText));
  const item = itemOf(request);
  const token = progressToken(request);
  // Without rules it is for the server to say that a request names nothing.
  if (typeof item === 'string' && (item !== 'unnamed' || itemRules !== undefined))
    return refuse(invalid(faults[item]));
  if (typeof token === 'string') return refuse(invalid(faults[token]));
  // The only target; with several, the prefix of the name decides here.
  const target = soleTarget(x.session);
  const name = x.session.nameOf(target);
  const cell = x.mcpMetrics.cell(name, request.method);
  x.http.annotate('mcp.target', name);
  const denied = (error: GatewayError) => {
    cell.ended('denied', 0);
    return refuse(error);
  };
  if (itemRules !== undefined && !clientRequests.has(request.method))
    return denied(new GatewayError('mcp_unknown_method'));
  const reader = x.session.readerOf(target);
  const ofTasks = x.session.tasks.fromClient(request, reader, itemRules);
  if (ofTasks === undefined) return denied(new GatewayError('mcp_unknown_task'));
  const edits: Edit[] = [...ofTasks];
  let view: ResponseFilter | undefined;
  let used: TaskItem | undefined;
  if (typeof item === 'object') {
    x.http.annotate(`mcp.${item.kind}`, item.name.slice(0, maxShown));
    const own = ownName(item, namePrefix(x.settings, name));
    if (own === undefined) return denied(unknownItemError(item));
    used = { kind: item.kind, name: own };
    if (own !== item.name) edits.push({ ...item.span, replacement: JSON.stringify(own) });
    if (itemRules !== undefined) {
      const found = viewOfItem(request, { ...item, name: own }, name, itemRules);
      if (found === 'hidden') return denied(unknownItemError(item));
      if (typeof found === 'string') return refuse(invalid(faults[found]));
      view = found;
    }
  } else view = viewOfList(x, request.method, name);
  const limit = callLimit(x, name, item);
  const tasks = x.session.tasks.view(request, reader, used, itemRules);
  const seen = view === undefined ? tasks : new ResponseFilters([view, tasks]);
  const out = { envelope: request, token, edits, limit };
  const tokenText = token === undefined ? undefined : cut(request.text, token);
  const ask = (cursor: string, call: Call): void =>
    x.session.send(target, { ...out, edits: [...edits, ...cursorEdits(request, cursor)] }, call);
  return () => {
    const { answer, session } = x;
    const tally = x.enter();
    session.send(
      target,
      out,
      new Call({ answer, request, stats: cell, tokenText, filter: seen, ask, tally, session }),
    );
  };
}

/** The time that a call may take without progress: the setting closest to the tool counts. */
function callLimit(
  { settings, callLimit: general }: Dispatch,
  name: string,
  item: ReturnType<typeof itemOf>,
): CallLimit {
  const target = settings.targets.find((one) => one.name === name);
  if (target === undefined) return general;
  const ofTarget = target.callTimeoutMs ?? (isOverNetwork(target) ? target.requestTimeoutMs : undefined);
  const ms = toolTimeout(target, settings, item) ?? ofTarget;
  return ms === undefined ? general : { ms };
}

function toolTimeout(
  { name, toolTimeoutsMs: tools }: McpTarget,
  settings: McpBackend,
  item: ReturnType<typeof itemOf>,
): number | undefined {
  if (tools === undefined || typeof item !== 'object' || item.kind !== 'tool') return undefined;
  const tool = ownName(item, namePrefix(settings, name));
  return tool !== undefined && Object.hasOwn(tools, tool) ? tools[tool] : undefined;
}

function soleTarget(session: Session): TargetConnection {
  for (const target of session.targets.values()) return target;
  throw new Error('a session has at least one target');
}

/** The target's own name of an item, or undefined where the client's name is none of this target. */
function ownName(item: NamedItem, prefix: string): string | undefined {
  if (prefix === '' || item.kind === 'resource') return item.name;
  return item.name.startsWith(prefix) ? item.name.slice(prefix.length) : undefined;
}

/** The caller's view of the server's answer about an item; `hidden` if the rules hide it. */
function viewOfItem(
  request: Envelope,
  item: NamedItem,
  target: string,
  itemRules: ItemRules,
): ResponseFilter | UnclearItem | 'hidden' | undefined {
  if (!itemRules.allows({ ...item, target })) return 'hidden';
  if (request.method === 'resources/read') return new ContentsFilter(item, target, itemRules);
  if (!item.template) return undefined;
  const completed = completedBy(request);
  if (typeof completed === 'string') return completed;
  if (!itemRules.allowsExpansion(target, item.name, completed.values)) return 'hidden';
  return new CompletionFilter(item.name, completed, target, itemRules);
}

/** The caller's view of the list that a method answers; undefined if it stays unchanged. */
function viewOfList(x: Dispatch, method: string, target: string): ResponseFilter | undefined {
  const shape = listShape(method);
  if (shape === undefined) return undefined;
  const prefix = shape.kind === 'resource' ? '' : namePrefix(x.settings, target);
  const { itemRules } = x;
  return itemRules === undefined && prefix === ''
    ? undefined
    : new ListFilter({ shape, target, prefix, itemRules });
}

/** Puts the cursor of another page into the request for a list. */
function cursorEdits({ text, body }: Envelope, cursor: string): Edit[] {
  if (body === undefined) {
    const at = text.indexOf('{') + 1;
    return [{ start: at, end: at, replacement: `"params":{"cursor":${cursor}},` }];
  }
  const place = memberOf(text, body, 'cursor');
  if (typeof place === 'object') return [{ ...place, replacement: cursor }];
  const at = body.start + 1;
  const comma = /^\{\s*\}$/.test(text.slice(body.start, body.end)) ? '' : ',';
  return [{ start: at, end: at, replacement: `"cursor":${cursor}${comma}` }];
}

function progressToken(request: Envelope): Span | 'ambiguous' | 'long' | undefined {
  const meta = memberOf(request.text, request.body, '_meta');
  if (meta === undefined || meta === 'ambiguous') return meta;
  const token = memberOf(request.text, meta, 'progressToken');
  return typeof token === 'object' && token.end - token.start > maxIdLength ? 'long' : token;
}
