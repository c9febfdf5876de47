import { GatewayError } from '../../errors.ts';
import type { HeaderLine } from '../../http/index.ts';
import type { McpBackend, McpTarget } from '../../model/index.ts';
import { shownBeginning } from '../../telemetry/index.ts';
import type { CheckRefusal, ItemCall, ItemRefusal } from '../contract.ts';
import { isOverNetwork } from '../targets/facts.ts';
import { Call } from '../session/call.ts';
import { completedBy, itemOf, listShape, type NamedItem, type UnclearItem } from '../items/items.ts';
import {
  CompletionFilter,
  ContentsFilter,
  maxShown,
  unknownItemError,
  type ContentsStart,
} from '../items/itemFilters.ts';
import { noteItemRefusal, refusalError } from '../items/itemRefusal.ts';
import type { CallLimit } from '../limits/callTimeouts.ts';
import { cut, edited, maxIdLength, memberOf, wholeOf, type Envelope, type Span } from '../json/envelope.ts';
import { addition } from '../json/objectMembers.ts';
import type { Edit } from '../json/scan.ts';
import type { ItemRules } from '../items/itemRules.ts';
import { ListFilter } from '../items/listFilter.ts';
import { readingsOf } from '../items/nameReadings.ts';
import { ResourceUriFilter } from '../items/resourceUris.ts';
import { tracedCall, tracedStats, withTrace } from './tracedCall.ts';
import type { Outgoing } from '../messages/outgoing.ts';
import { clientRequests } from '../messages/mcpMethods.ts';
import type { TargetConnection } from '../targets/kind/target.ts';
import { inMeta } from '../messages/requestMeta.ts';
import { checkFirst } from './checkFirst.ts';
import type { CheckedRequest, MessageChecks } from './checks.ts';
import { countFirst, isCounted } from './countFirst.ts';
import type { Dispatch } from './dispatchContext.ts';
import { itemCallOf, sessionIdOf } from './itemCall.ts';
import { faults, invalid, refusal, type Refuser } from './refusal.ts';
import type { TaskAsker } from '../session/taskIds.ts';
import type { KnownTask, TaskItem } from '../session/taskRegistry.ts';
import { ResponseFilters, type ResponseFilter } from '../items/responseFilter.ts';

/** A request for one target. */
export interface TargetRequest {
  readonly request: Envelope;
  readonly token: Span | undefined;
  readonly target: TargetConnection;
  readonly item: NamedItem | UnclearItem | undefined;
  /** The target's own name of the item; undefined where the client's name is none of this target. */
  readonly own: string | undefined;
  /** Judges the request where checks have given it another item; absent where nobody else has to judge the item. */
  readonly renamed?: (x: Dispatch, request: Envelope, item: NamedItem, token: Span | undefined) => () => void;
}

/** The item that a request uses, by the name that its target has for it. */
interface UsedItem extends TaskItem {
  /** The name is a template of URIs. */
  readonly template: boolean;
}

/** Judges a request for one target. @returns what sends or refuses it */
export function prepareForTarget(x: Dispatch, asked: TargetRequest): () => void {
  const { itemRules, session } = x;
  const { request, token, target, item, own } = asked;
  const name = session.targets.nameOf(target);
  const cell = x.mcpMetrics.cell(name, request.method);
  x.notes.annotate('mcp.target', name);
  x.answer.note?.(request, { target: name });
  const denied = (error: GatewayError, by?: Refuser) => {
    cell.ended('denied', 0);
    return refusal(x, request, error, by);
  };
  if (itemRules !== undefined && !clientRequests.has(request.method))
    return denied(new GatewayError('mcp_unknown_method'));
  // Its server would not know a state that no server has made.
  if (session.era === 'modern' && target.era !== 'modern' && namesState(request))
    return denied(
      new GatewayError('mcp_invalid_params', { message: 'invalid params: requestState is unknown' }),
      'request state',
    );
  const reader = session.targets.readerOf(target);
  const tasks = session.targets.tasksOf(target);
  let hidden: ItemRefusal | undefined;
  const ofTasks = tasks.fromClient(
    request,
    reader,
    itemRules,
    taskAsker(x, (why) => (hidden = why)),
  );
  if (ofTasks === undefined)
    return denied(refusalError(new GatewayError('mcp_unknown_task'), hidden), hidden);
  const edits: Edit[] = [...ofTasks];
  const filters: ResponseFilter[] = [];
  let used: UsedItem | undefined;
  let task: KnownTask | undefined;
  if (typeof item === 'object') {
    noteItem(x, own === undefined || own === item.name ? item : { ...item, name: own });
    if (own === undefined) return denied(unknownItemError(item));
    used = { kind: item.kind, name: own, template: item.template };
    x.http.uses?.({ kind: item.kind, target: name, name: own });
    x.answer.concerns?.({ kind: item.kind, target: name, name: own, template: item.template });
    if (own !== item.name) edits.push(nameEdit(item, own));
    if (itemRules !== undefined) {
      const found = viewOfItem(x, request, { ...item, name: own }, name, itemRules);
      if (typeof found === 'string') return refusal(x, request, invalid(faults[found]));
      if ('refused' in found) {
        const isSeen =
          found.refused.fault !== undefined && itemRules.allows({ ...item, name: own, target: name });
        return denied(refusalError(unknownItemError(item), found.refused, isSeen), found.refused);
      }
      if (found.filter !== undefined) filters.push(found.filter);
    }
  } else {
    task = tasks.named(request, reader);
    const view = viewOfList(x, request, name) ?? viewOfTask(x, request, name, task);
    if (view !== undefined) filters.push(view);
  }
  // The filter of contents puts the client's URIs in by itself.
  if (x.naming.federated && !filters.some((filter) => filter instanceof ContentsFilter))
    filters.push(new ResourceUriFilter(x.naming, name));
  filters.push(tasks.view(request, reader, task ?? used, itemRules));
  const limit = limitOfCall(x, x.tasked ?? request, name, used ?? taskedItem(x, task));
  const filter = filters.length === 1 ? filters[0] : new ResponseFilters(filters);
  const given = x.headers === undefined || x.headers.length === 0 ? undefined : x.headers;
  const out: Outgoing =
    given === undefined
      ? { envelope: request, token, edits, limit }
      : { envelope: request, token, edits, limit, headers: given };
  const tokenText = token === undefined ? undefined : cut(request.text, token);
  const begin = (headers: readonly HeaderLine[] = []): void => {
    const { answer, count, checks } = x;
    const tally = x.enter();
    const span = x.http.traceCall?.(tracedCall(request, name, used));
    const stats = span === undefined ? cell : tracedStats(cell, span, request.method);
    const check =
      checks?.ofResult === true ? (text: string) => checks.response(text, request.method, [name]) : undefined;
    const sent = headers.length === 0 ? out : { ...out, headers: [...(given ?? []), ...headers] };
    const ask = (cursor: string, asking: Call): void =>
      session.send(target, { ...sent, edits: [...edits, ...cursorEdits(request, cursor)] }, asking, x.ways);
    const call = new Call({
      answer,
      request,
      stats,
      http: x.http,
      tokenText,
      filter,
      // It keeps everything here alive, and only lists have further pages.
      ask: used === undefined ? ask : undefined,
      check,
      tally,
      session,
    });
    const traced = span === undefined ? sent : withTrace(sent, span);
    const send = (): void => session.send(target, traced, call, x.ways);
    if (count === undefined || used === undefined || !isCounted(request)) {
      send();
      return;
    }
    countFirst(x, request, call, count({ ...used, target: name }, useOf(x, request, used)), send);
  };
  const { checks } = x;
  if (checks?.ofRequest !== true || x.isChecked === true) return () => begin();
  // The check sees the item by the name that the target has for it.
  const checked =
    typeof item === 'object' && own !== undefined && own !== item.name
      ? edited(request, [nameEdit(item, own)])
      : request;
  return () =>
    checkFirst(x, checked, verdictOf({ ...x, checks }, checked, target, name), (changed, headers) => {
      if (changed === undefined) begin(headers);
      else prepareChanged({ ...x, isChecked: true, headers }, asked, changed)();
    });
}

/** Puts another name into a request. */
const nameEdit = ({ span: { start, end } }: NamedItem, name: string): Edit => ({
  start,
  end,
  replacement: JSON.stringify(name),
});

/** The verdict of the checks. The client's lines for parameters do not fit a changed request, so it gets new ones. */
async function verdictOf(
  { checks, headers: lines = [] }: Dispatch & { readonly checks: MessageChecks },
  request: Envelope,
  target: TargetConnection,
  name: string,
): Promise<CheckedRequest | CheckRefusal> {
  const verdict = await checks.request(request, [name]);
  if ('error' in verdict || !verdict.isChanged) return verdict;
  const own = (await target.parameterLines?.(verdict.request, { request, lines })) ?? [];
  return { ...verdict, headers: [...own, ...verdict.headers] };
}

/** Judges a request that the checks have made of another one. It names its item as the target does. */
function prepareChanged(
  x: Dispatch,
  { target, item: before, own: nameBefore, renamed }: TargetRequest,
  request: Envelope,
): () => void {
  const found = itemOf(request);
  if (typeof found === 'string') return refusal(x, request, invalid(faults[found]));
  const place = progressToken(request);
  const token = typeof place === 'object' ? place : undefined;
  const isSame = typeof before === 'object' && found?.kind === before.kind && found.name === nameBefore;
  if (!isSame && found !== undefined && renamed !== undefined) return renamed(x, request, found, token);
  return prepareForTarget(x, {
    request,
    token,
    target,
    // The response has the name that the client uses.
    item: isSame ? { ...found, name: before.name } : found,
    own: found?.name,
  });
}

/** The place of the progress token of a request. */
export function progressToken(request: Envelope): Span | 'ambiguous' | 'long' | undefined {
  const token = inMeta(request, 'progressToken');
  return typeof token === 'object' && token.end - token.start > maxIdLength ? 'long' : token;
}

const namesState = ({ text, body }: Envelope): boolean => memberOf(text, body, 'requestState') !== undefined;

/** Hears why a request about a task is refused. */
export const taskAsker = ({ http, settings }: Dispatch, refused: (why: ItemRefusal) => void): TaskAsker => ({
  sessionId: sessionIdOf(http, settings),
  refused,
});

/** Names the item of a request in the access log: as its server does, where that is known. */
export const noteItem = ({ notes }: Dispatch, { kind, name }: NamedItem): void =>
  notes.annotate(itemFields[kind], shownBeginning(name, maxShown));

/** The fields of the access log. */
const itemFields = { tool: 'mcp.tool', prompt: 'mcp.prompt', resource: 'mcp.resource' } as const;

/** The part of a request that limits look at beside its item. */
const useOf = (x: Dispatch, request: Envelope, { kind, name, template }: UsedItem): ItemCall => ({
  ...itemCallOf(x.http, request, x.settings),
  readNames: () => readingsOf(kind, name, template),
});

/** The item of the call whose result a request asks for: the client waits for the response to its call. */
const taskedItem = ({ tasked }: Dispatch, task: KnownTask | undefined): UsedItem | undefined =>
  tasked === undefined || task?.item === undefined ? undefined : { ...task.item, template: false };

/** The time that a call may take without progress: a policy about single calls counts before all settings. */
function limitOfCall(x: Dispatch, request: Envelope, target: string, used: UsedItem | undefined): CallLimit {
  const settings = callLimit(x, target, used);
  if (x.callTime === undefined || used === undefined) return settings;
  const said = x.callTime({ ...used, target }, useOf(x, request, used));
  if (said === undefined) return settings;
  const limit = said.ms === undefined ? settings : { ms: Math.min(said.ms, x.mostCallMs) };
  const { atMostMs = Infinity } = said;
  return limit.ms !== 0 && limit.ms <= atMostMs ? limit : { ms: Math.min(atMostMs, x.mostCallMs) };
}

/** The time that a call may take without progress: the setting closest to the tool counts. */
export function callLimit(
  { settings, callLimit: general }: Pick<Dispatch, 'settings' | 'callLimit'>,
  name: string,
  used?: TaskItem,
): CallLimit {
  const target = targetNamed(settings, name);
  if (target === undefined) return general;
  const ofTarget = target.callTimeoutMs ?? (isOverNetwork(target) ? target.requestTimeoutMs : undefined);
  const ms = toolTimeout(target, used) ?? ofTarget;
  return ms === undefined ? general : { ms };
}

/** Without a closure, for each call looks for its target. */
function targetNamed({ targets }: McpBackend, name: string): McpTarget | undefined {
  for (const target of targets) if (target.name === name) return target;
  return undefined;
}

const toolTimeout = ({ toolTimeoutsMs: tools }: McpTarget, used: TaskItem | undefined): number | undefined =>
  tools !== undefined && used?.kind === 'tool' && Object.hasOwn(tools, used.name)
    ? tools[used.name]
    : undefined;

/** The caller's view of the server's answer about an item, if it differs from the answer, or the refusal of the item. */
function viewOfItem(
  x: Dispatch,
  request: Envelope,
  item: NamedItem,
  target: string,
  itemRules: ItemRules,
): { readonly filter?: ResponseFilter } | { readonly refused: ItemRefusal } | UnclearItem {
  const call = itemCallOf(x.http, request, x.settings);
  const refused = itemRules.refusalOf({ ...item, target }, call);
  if (refused !== undefined) return { refused };
  if (request.method === 'resources/read')
    return { filter: viewOfContents(x, request, { item, target, itemRules, call }) };
  if (!item.template) return {};
  const completed = completedBy(request);
  if (typeof completed === 'string') return completed;
  const expansion = itemRules.refusalOfExpansion(target, item.name, completed.values, call);
  if (expansion !== undefined) return { refused: expansion };
  return { filter: new CompletionFilter(item.name, completed, target, itemRules) };
}

/** The view of a caller under rules on the result of a task that a read began. */
function viewOfTask(
  x: Dispatch,
  request: Envelope,
  target: string,
  task: KnownTask | undefined,
): ResponseFilter | undefined {
  const { itemRules, http, settings } = x;
  if (itemRules === undefined || task?.item?.kind !== 'resource') return undefined;
  const { method } = request;
  const call = { method, sessionId: sessionIdOf(http, settings), task: { name: task.id, target } };
  // Other answers are the task, which may hold its result.
  const within = method === 'tasks/result' ? undefined : 'result';
  return viewOfContents(x, request, { item: task.item, target, itemRules, call, within });
}

const viewOfContents = (
  { naming, notes, answer }: Dispatch,
  request: Envelope,
  start: Omit<ContentsStart, 'naming' | 'refused'>,
): ContentsFilter =>
  new ContentsFilter({
    ...start,
    naming,
    refused: (why) => {
      noteItemRefusal(notes, why);
      answer.note?.(request, { refusal: why });
    },
  });

/** The caller's view of the list that a method answers; undefined if it stays unchanged. */
function viewOfList(x: Dispatch, request: Envelope, target: string): ResponseFilter | undefined {
  const shape = listShape(request.method);
  if (shape === undefined) return undefined;
  const { itemRules, naming } = x;
  const plain = naming.view === undefined && (shape.kind === 'resource' || naming.prefixOf(target) === '');
  return itemRules === undefined && plain
    ? undefined
    : new ListFilter({
        shape,
        target,
        naming,
        itemRules,
        log: x.session.log,
        isFirstPage: memberOf(request.text, request.body, 'cursor') === undefined,
      });
}

/** Puts the cursor of another page into the request for a list. */
function cursorEdits({ text, body }: Envelope, cursor: string): Edit[] {
  if (body === undefined) return [addition(text, wholeOf(text), `"params":{"cursor":${cursor}}`)];
  const place = memberOf(text, body, 'cursor');
  if (typeof place === 'object') return [{ ...place, replacement: cursor }];
  return [addition(text, body, `"cursor":${cursor}`)];
}
