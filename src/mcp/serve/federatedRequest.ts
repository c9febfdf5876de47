/**
 * A request of a client whose session has several targets: it goes to the one target that owns its item, or to all of
 * them, or the gateway answers it.
 */

import { asGatewayError, GatewayError } from '../../errors.ts';
import type { ItemRefusal } from '../contract.ts';
import { has } from '../federation/capabilities.ts';
import { fromAll } from '../federation/fromAll.ts';
import { Federation } from '../federation/federation.ts';
import { listOf, mergedPage, type ListTools } from '../federation/mergedList.ts';
import { mergedTasks } from '../federation/mergedTasks.ts';
import type { Member } from '../federation/member.ts';
import { ownerOf } from '../federation/ownerOf.ts';
import { refusalError, withheldByPin } from '../items/itemRefusal.ts';
import { maxShown, unknownItemError } from '../items/itemFilters.ts';
import { listOfKind, listShape, type NamedItem, type UnclearItem } from '../items/items.ts';
import { cut, memberOf, stringValue, type Envelope, type Span } from '../json/envelope.ts';
import { errorTextOf, lacksMethod } from '../json/errorMember.ts';
import { respondError } from '../session/callAnswer.ts';
import { BroadCall } from './broadCall.ts';
import { checkRefusal } from './checkFirst.ts';
import { faults, invalid, refusal } from './refusal.ts';
import type { TargetConnection } from '../targets/kind/target.ts';
import type { Dispatch } from './dispatchContext.ts';
import { callLimit, noteItem, prepareForTarget, taskAsker, type TargetRequest } from './targetRequest.ts';

type Item = NamedItem | UnclearItem | undefined;
type Token = Span | undefined;

const tooMany = 'too many requests of the session wait for its targets';

/** Judges a request. @returns what carries out the verdict */
export function prepareFederated(x: Dispatch, request: Envelope, item: Item, token: Token): () => void {
  const { federation } = x.session;
  if (!(federation instanceof Federation)) throw new Error('the session has no federation');
  const { method } = request;
  // A ping asks whether the other side of the connection is there, which is the gateway.
  if (method === 'ping') return () => x.answer.respond(resultText(request, '{}'));
  const isBroad = listShape(method) !== undefined || method === 'tasks/list' || method === 'logging/setLevel';
  if (isBroad && federation.isFull) return refusedAsFull(x, request);
  if (listShape(method) !== undefined || method === 'tasks/list')
    return () => answerBroadly(x, federation, request, (asked, tools) => list(x, federation, asked, tools));
  if (method === 'logging/setLevel')
    return () => answerBroadly(x, federation, request, (asked, tools) => setLevel(federation, asked, tools));
  if (typeof item === 'string') return refusal(x, request, invalid(faults[item]));
  if (item !== undefined) return prepareItem(x, federation, request, item, token);
  if (method.startsWith('tasks/')) return prepareTask(x, federation, request, token);
  return refusal(x, request, new GatewayError('mcp_unknown_method'));
}

const refusedAsFull = (x: Dispatch, request: Envelope): (() => void) =>
  refusal(x, request, new GatewayError('mcp_target_failed', { message: tooMany }));

/** A request about an item of one target. */
function prepareItem(
  x: Dispatch,
  federation: Federation,
  request: Envelope,
  item: NamedItem,
  token: Token,
): () => void {
  noteItem(x, item);
  const owner = ownerOf(federation, item.kind, item.name, toolsOf(x));
  const send = (found: { target: string; name: string } | undefined): (() => void) => {
    const member = found && federation.member(found.target);
    if (found === undefined || member === undefined) return refusal(x, request, unknownItemError(item));
    return prepareOwned(x, federation, member, { request, token, item, own: found.name });
  };
  return owner instanceof Promise ? later(x, federation, request, owner, send) : send(owner);
}

/** A request whose item belongs to one of the targets. */
type OwnedRequest = Pick<TargetRequest, 'request' | 'token'> & {
  readonly item: NamedItem;
  readonly own: string;
};

function prepareOwned(x: Dispatch, federation: Federation, member: Member, asked: OwnedRequest): () => void {
  const { item, request } = asked;
  const send = (target: TargetConnection): (() => void) =>
    prepareForTarget(x, {
      ...asked,
      target,
      // The pin of another item was not compared yet.
      renamed: (checked, changed, found, token) =>
        prepareOwned(checked, federation, member, {
          request: changed,
          token,
          item: found,
          own: found.name,
        }),
    });
  if (federation.enforcesPins && item.kind !== 'resource' && !item.template)
    return prepareCompared(x, federation, member, asked, send);
  const { ready } = member;
  return ready === undefined ? later(x, federation, request, member.connected(), send) : send(ready);
}

/** A request about an item whose definition must have been compared with its pin. */
function prepareCompared(
  x: Dispatch,
  federation: Federation,
  member: Member,
  { request, item, own }: OwnedRequest,
  then: (target: TargetConnection) => () => void,
): () => void {
  const { kind } = item;
  const [method, shape] = listOfKind(kind);
  const send = (isListed: boolean): (() => void) => {
    const { ready } = member;
    // An item that is hidden is refused like one that does not exist: neither is in the list of the caller.
    const hidden = x.itemRules?.refusalOf({ kind, target: member.name, name: own });
    if (ready === undefined || !isListed || hidden !== undefined)
      return refusal(x, request, refusalError(definitionChanged(item), hidden), hidden ?? withheldByPin);
    return then(ready);
  };
  const known = member.ready === undefined ? undefined : member.lists.includes(method, own);
  if (known !== undefined) return send(known);
  // The list may change again meanwhile: the one that was read for this call decides.
  return later(x, federation, request, listOf(federation, member, method, shape, toolsOf(x)), (items) =>
    send(items.some(({ name }) => name === own)),
  );
}

const definitionChanged = ({ kind, name }: NamedItem): GatewayError =>
  new GatewayError('mcp_definition_changed', {
    message: `the definition of ${kind} ${name.slice(0, maxShown)} is unknown, or has changed since it was approved`,
  });

/** A request about a task: the handle tells its server. */
function prepareTask(x: Dispatch, federation: Federation, request: Envelope, token: Token): () => void {
  const { session, itemRules } = x;
  let hidden: ItemRefusal | undefined;
  const asker = taskAsker(x, (why) => (hidden = why));
  const send = (target: TargetConnection): (() => void) =>
    prepareForTarget(x, { request, token, target, item: undefined, own: undefined });
  const { targets } = session;
  for (const member of federation.all) {
    const { ready, target } = member;
    const reader = ready === undefined ? targets.readerAt(target) : targets.readerOf(ready);
    if (targets.tasksOf(ready ?? target).fromClient(request, reader, itemRules, asker) === undefined)
      continue;
    return ready === undefined ? later(x, federation, request, member.connected(), send) : send(ready);
  }
  return refusal(x, request, refusalError(new GatewayError('mcp_unknown_task'), hidden), hidden);
}

/** Carries out a verdict that has to wait for a target. */
function later<Found>(
  x: Dispatch,
  federation: Federation,
  request: Envelope,
  awaited: Promise<Found>,
  prepare: (found: Found) => () => void,
): () => void {
  // A verdict is not carried out where another message of its batch is refused: then nobody waits.
  awaited.catch(() => undefined);
  if (federation.isFull) return refusedAsFull(x, request);
  return () => {
    const call = new BroadCall(x, request, x.enter());
    waitFor(x, federation, call, awaited, (found) => {
      if (!call.leave()) return;
      try {
        prepare(found)();
      } catch (error) {
        federation.log.error('Request failed', { error: String(error) });
        respondError(x.answer, asGatewayError(error), call.idText);
      }
    });
  };
}

/** A request that the gateway answers with what all targets say. */
const answerBroadly = (
  x: Dispatch,
  federation: Federation,
  request: Envelope,
  resultOf: (request: Envelope, tools: ListTools) => Promise<string>,
): void => {
  const { checks } = x;
  const call = new BroadCall(x, request, x.enter());
  const tools = { ...toolsOf(x), call };
  const answer = async (): Promise<string> => {
    if (checks === undefined) return resultText(request, await resultOf(request, tools));
    const targets = federation.all.map(({ name }) => name);
    const checked = await checks.request(request, targets);
    if ('error' in checked) return checkRefusal(x, request, checked);
    const result = resultText(
      request,
      await resultOf(checked.request, { ...tools, headers: checked.headers }),
    );
    return await checks.response(result, request.method, targets);
  };
  waitFor(x, federation, call, answer(), (response) => call.respond(response));
};

/** Waits for targets in the name of a request, which can be taken back meanwhile. */
function waitFor<Found>(
  x: Dispatch,
  federation: Federation,
  call: BroadCall,
  awaited: Promise<Found>,
  then: (found: Found) => void,
): void {
  const leave = federation.enter(call);
  x.session.streams.expect(x.answer);
  awaited
    .finally(() => {
      leave();
      call.settled();
      x.session.touch();
    })
    .then(then, (error: unknown) => call.fail(asGatewayError(error)))
    .catch((error: unknown) => federation.log.error('Response failed', { error: String(error) }));
}

const toolsOf = (x: Dispatch): ListTools => ({
  cell: (target, method) => x.mcpMetrics.cell(target, method),
  limit: (target) => callLimit(x, target),
  headers: [],
  wayTo: (target) => x.session.wayTo(target, x.ways),
});

/** @throws GatewayError */
async function list(
  x: Dispatch,
  federation: Federation,
  request: Envelope,
  tools: ListTools,
): Promise<string> {
  const { method } = request;
  if (isMissing(federation, method)) throw new GatewayError('mcp_unknown_method');
  const cursor = cursorOf(request);
  const shape = listShape(method);
  if (shape === undefined) {
    const tasks = await mergedTasks(federation, x.session, x.itemRules, tools);
    return `{"tasks":[${tasks.join(',')}]}`;
  }
  return await mergedPage(federation, method, shape, x.itemRules, cursor, tools);
}

/** Do all targets say that they lack the feature of a method? A single server would not know the method. */
const isMissing = ({ all }: Federation, method: string): boolean =>
  all.every(({ facts }) => facts !== undefined && !has(facts, method));

/** @throws GatewayError mcp_invalid_params */
function cursorOf({ text, body }: Envelope): string | undefined {
  const place = memberOf(text, body, 'cursor');
  if (place === undefined) return undefined;
  const cursor = place === 'ambiguous' ? undefined : stringValue(text, place);
  if (cursor === undefined)
    throw new GatewayError('mcp_invalid_params', { message: 'invalid cursor: it must be one string' });
  return cursor;
}

/** @throws GatewayError */
async function setLevel(
  federation: Federation,
  { text, body }: Envelope,
  { limit, headers, wayTo, call }: ListTools,
): Promise<string> {
  const place = memberOf(text, body, 'level');
  const level = place === 'ambiguous' ? undefined : stringValue(text, place);
  if (level === undefined || level.length > 64)
    throw new GatewayError('mcp_invalid_params', { message: 'invalid params: level must be a string' });
  const params = JSON.stringify({ level });
  const answers = await fromAll(
    federation,
    (member) =>
      federation.setLevelOf(member, params, limit(member.name), (target) => ({
        ...wayTo(target),
        headers,
        ...(call && { call }),
      })),
    () => undefined,
  );
  const lacking = new Set<Member>();
  for (const { member, value: response } of answers) {
    if (response?.isError !== true) continue;
    if (!lacksMethod(response))
      throw new GatewayError('mcp_invalid_params', {
        message: `target "${member.name}" refused the level: ${errorTextOf(response)}`,
      });
    lacking.add(member);
  }
  // No server logs, as `initialize` has told the client or as the servers say now.
  const doesNotLog = (member: Member): boolean =>
    lacking.has(member) || (member.facts !== undefined && !has(member.facts, 'logging'));
  if (federation.all.every(doesNotLog)) throw new GatewayError('mcp_unknown_method');
  federation.rememberLevel(params);
  return '{}';
}

/** The response with a result of the gateway's own. */
const resultText = ({ text, idSpan }: Envelope, result: string): string =>
  `{"jsonrpc":"2.0","id":${cut(text, idSpan)},"result":${result}}`;
