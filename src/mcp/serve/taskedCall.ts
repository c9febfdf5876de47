import { asGatewayError } from '../../errors.ts';
import { cut, memberOf, stringValue } from '../json/envelope.ts';
import { ownMessage } from '../json/ownMessage.ts';
import type { HeldSession } from '../modern/heldSession.ts';
import { keyOf } from '../modern/heldSessions.ts';
import type { TaskedCall } from '../modern/createdTask.ts';
import { respondError, type CallAnswer } from '../session/callAnswer.ts';
import { ask, send, type ModernRequest } from './modernRequest.ts';

/** Does the call name a tool that its server carries out as a task only? The client must have listed the tool. */
export function needsTask({ options, client, message, meta }: ModernRequest): boolean {
  const { held, settings } = options;
  if (message.method !== 'tools/call' || held.listed.isEmpty) return false;
  const place = memberOf(message.text, message.body, 'name');
  const name = typeof place === 'object' ? stringValue(message.text, place) : undefined;
  return name !== undefined && held.listed.needsTask(() => keyOf(settings, client.caller, meta), name);
}

/**
 * A call across eras answers without a task: the gateway makes the task, waits for its result, and answers with it.
 * @param answer gets the result
 */
export const taskedCall = (
  modern: ModernRequest,
  held: HeldSession,
  answer: () => CallAnswer,
): TaskedCall => ({
  awaitResult: (taskId) => {
    try {
      send(modern, held, answer(), ownMessage('tasks/result', JSON.stringify({ taskId })), modern.message);
    } catch (error) {
      const { text, idSpan } = modern.message;
      respondError(answer(), asGatewayError(error), cut(text, idSpan));
    }
  },
  cancel: (taskId) => {
    if (!held.session.ended) ask(modern, held, 'tasks/cancel', { taskId }, () => undefined);
  },
});
