import { GatewayError } from '../errors.ts';
import type { HttpRequest } from '../http/index.ts';
import type { McpBackend } from '../model/index.ts';
import type { Answer } from './answer.ts';
import { Call } from './call.ts';
import type { Caller } from './contract.ts';
import { itemOf, listShape, unknownItem, type NamedItem, type UnclearItem } from './items.ts';
import { cut, maxIdLength, memberOf, type Envelope, type Span } from './json/envelope.ts';
import type { Edit } from './json/scan.ts';
import type { ListView } from './listView.ts';
import type { Measure } from './measure.ts';
import { errorResponse } from './sendError.ts';
import type { Session } from './session.ts';
import type { TargetConnection } from './target.ts';

/** Between a target's name and the name of its tool. */
const delimiter = '_';
/** Names come from clients: in logs and messages they are cut. */
const maxShown = 200;

/** What stands before the names of a target's tools and prompts; empty for nothing. */
export function namePrefix(settings: McpBackend, target: string): string {
  return settings.prefixMode === 'always' ? target + delimiter : '';
}

/** Why a request is refused before anybody looks at what it asks for. */
const faults: Readonly<Record<UnclearItem | 'long', string>> = {
  ambiguous: 'a member is repeated',
  malformed: 'the name is not a string',
  long: 'the progress token is too long',
};

export interface Dispatch {
  readonly settings: McpBackend;
  readonly session: Session;
  readonly answer: Answer;
  readonly caller: Caller;
  readonly http: HttpRequest;
  readonly measure: Measure;
}

/** Sends one request of a client to the target that serves it, unless a rule hides what it asks for. */
export function dispatch(x: Dispatch, request: Envelope): void {
  const idText = request.text.slice(request.idSpan.start, request.idSpan.end);
  x.http.annotate('mcp.method', request.method.slice(0, maxShown));
  const item = itemOf(request);
  const token = progressToken(request);
  if (typeof item === 'string' || typeof token === 'string') {
    const why = typeof item === 'string' ? faults[item] : faults[token as keyof typeof faults];
    const error = new GatewayError('mcp_invalid_request', { message: `invalid request: ${why}` });
    x.answer.respond(errorResponse(error, idText));
    return;
  }
  // One target; with several, the prefix of the name decides here.
  const target = soleTarget(x.session);
  const cell = x.measure.cell(target.name, request.method);
  x.http.annotate('mcp.target', target.name);
  const edits: Edit[] = [];
  if (item !== undefined) {
    x.http.annotate(`mcp.${item.kind}`, item.name.slice(0, maxShown));
    const own = ownName(item, namePrefix(x.settings, target.name));
    if (
      own === undefined ||
      x.caller.mayUse?.({ kind: item.kind, target: target.name, name: own }) === false
    ) {
      const { code, label } = unknownItem[item.kind];
      cell.ended('denied', 0);
      const error = new GatewayError(code, { message: `${label}: ${item.name.slice(0, maxShown)}` });
      x.answer.respond(errorResponse(error, idText));
      return;
    }
    if (own !== item.name) edits.push({ ...item.span, replacement: JSON.stringify(own) });
  }
  const call = new Call({
    answer: x.answer,
    request,
    cell,
    tokenText: token === undefined ? undefined : cut(request.text, token),
    list: listView(x, request.method, target.name),
  });
  x.session.send(target, { envelope: request, token, edits }, call);
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

/** How the caller sees the list that a method answers; undefined where nothing is to change in it. */
function listView(x: Dispatch, method: string, target: string): ListView | undefined {
  const shape = listShape(method);
  if (shape === undefined) return undefined;
  const prefix = shape.kind === 'resource' ? '' : namePrefix(x.settings, target);
  const { mayUse } = x.caller;
  return mayUse === undefined && prefix === '' ? undefined : { shape, target, prefix, mayUse };
}

function progressToken(request: Envelope): Span | 'ambiguous' | 'long' | undefined {
  const meta = memberOf(request.text, request.body, '_meta');
  if (meta === undefined || meta === 'ambiguous') return meta;
  const token = memberOf(request.text, meta, 'progressToken');
  return typeof token === 'object' && token.end - token.start > maxIdLength ? 'long' : token;
}
