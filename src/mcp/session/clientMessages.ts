/** Messages of a client that get no response: notifications, and answers to requests of servers. */

import { GatewayError } from '../../errors.ts';
import type { ItemRules } from '../items/itemRules.ts';
import { memberOf, stringValue, type Envelope, type RpcId } from '../json/envelope.ts';
import { parsedId } from '../json/parsed.ts';
import { splice, type Edit } from '../json/scan.ts';
import { errorResponse } from '../messages/rpcError.ts';
import type { TargetConnection } from '../targets/kind/target.ts';
import { Call } from './call.ts';
import type { CallAnswer } from './callAnswer.ts';
import { readServerToken } from './progressTokens.ts';
import type { AskedBy, MessageContext, ServerMessages } from './serverMessages.ts';

/** The edits that give each task in a message the name it has at the target; undefined where the target has no such task. */
function taskEdits(
  { targets }: MessageContext,
  target: TargetConnection,
  message: Envelope,
  itemRules: ItemRules | undefined,
): readonly Edit[] | undefined {
  return targets.tasksOf(target).fromClient(message, targets.readerOf(target), itemRules);
}

/** A notification of the client. Every target may need to know it, except where it is about something of one target. */
export function notify(context: MessageContext, message: Envelope, itemRules: ItemRules | undefined): void {
  const { federation } = context;
  const { method } = message;
  if (method === 'notifications/initialized' && federation !== undefined) {
    federation.initialized(message.text);
    return;
  }
  if (method === 'notifications/progress' && federation !== undefined) {
    progressOfClient(context, message, itemRules);
    return;
  }
  let isKnown = false;
  for (const target of context.targets.values()) {
    const edits = taskEdits(context, target, message, itemRules);
    if (edits === undefined) continue;
    isKnown = true;
    if (method === 'notifications/cancelled') cancel(target, message, edits);
    else target.send(splice(message.text, edits), method);
  }
  if (!isKnown) context.log.debug('Notification dropped: the task belongs to another caller');
  if (method !== 'notifications/cancelled') return;
  const id = cancelledId(message);
  if (id === undefined) return;
  [...context.unsent].findLast((request) => request.id === id)?.cancel();
  federation?.cancel(id);
}

/** Progress with a request of a server: the token tells the server. */
function progressOfClient(
  context: MessageContext,
  message: Envelope,
  itemRules: ItemRules | undefined,
): void {
  const place = memberOf(message.text, message.body, 'progressToken');
  if (place === undefined || place === 'ambiguous') return;
  const token = readServerToken(stringValue(message.text, place));
  const target = token && context.targets.get(token.target);
  if (token === undefined || target === undefined) return;
  const edits = taskEdits(context, target, message, itemRules);
  if (edits === undefined) return;
  target.send(splice(message.text, [...edits, { ...place, replacement: token.tokenText }]), message.method);
}

/** The client's answer to a request of a server. */
export function respond(
  context: MessageContext,
  servers: ServerMessages,
  message: Envelope,
  itemRules: ItemRules | undefined,
): void {
  const asked = servers.answered(message.id!);
  const target = asked && context.targets.get(asked.target);
  if (asked === undefined || target === undefined || target.generation !== asked.generation) {
    context.log.debug('Client response ignored: no request is pending', { id: String(message.id) });
    return;
  }
  context.streams.answered(message.id!);
  const edits = answerEdits(context, target, message, itemRules, asked);
  if (edits === undefined) target.send(errorResponse(new GatewayError('mcp_unknown_task'), asked.idText));
  else target.send(splice(message.text, [...edits, { ...message.idSpan, replacement: asked.idText }]));
}

/** The edits in the client's answer to a server; undefined where its tasks cannot be told from those of others. */
function answerEdits(
  context: MessageContext,
  target: TargetConnection,
  message: Envelope,
  itemRules: ItemRules | undefined,
  { listsTasks }: AskedBy,
): readonly Edit[] | undefined {
  const edits = taskEdits(context, target, message, itemRules);
  const isWhole = listsTasks !== true || message.isError || context.federation === undefined;
  if (edits === undefined || isWhole) return edits;
  const listed = context.targets.tasksOf(target).ownListed(message, target.name);
  return listed instanceof GatewayError ? undefined : [...edits, ...listed.edits];
}

/** Takes the newest call with the id of the notification back. */
function cancel(target: TargetConnection, message: Envelope, edits: readonly Edit[]): void {
  const place = memberOf(message.text, message.body, 'requestId');
  const id = cancelledId(message);
  if (id === undefined || typeof place !== 'object') return;
  let found: [number, Call] | undefined;
  // The same id may be in flight twice (two POSTs): the newer one is meant.
  for (const [wireId, waiter] of target.calls())
    if (waiter instanceof Call && waiter.id === id) found = [wireId, waiter];
  if (found === undefined || found[1].method === 'initialize') return;
  const [wireId, call] = found;
  target.send(splice(message.text, [...edits, { ...place, replacement: String(wireId) }]));
  target.forget(wireId);
  call.cancelled(new GatewayError('mcp_cancelled'));
}

/** Gives up the calls of an answer that nobody waits for any more, and tells their servers. */
export function cancelCalls({ targets }: MessageContext, answer: CallAnswer, reason: string): void {
  for (const target of targets.values())
    for (const [wireId, waiter] of [...target.calls()]) {
      if (!(waiter instanceof Call) || waiter.answer !== answer) continue;
      const params = JSON.stringify({ requestId: wireId, reason });
      const method = 'notifications/cancelled';
      target.send(`{"jsonrpc":"2.0","method":"${method}","params":${params}}`, method);
      target.forget(wireId);
      waiter.cancelled(new GatewayError('mcp_cancelled'));
    }
}

/** The id of the request that a notification takes back. */
function cancelledId({ text, body }: Envelope): RpcId | undefined {
  const place = memberOf(text, body, 'requestId');
  if (place === undefined || place === 'ambiguous') return undefined;
  return parsedId(text.slice(place.start, place.end));
}
