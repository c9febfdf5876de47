import { edited, memberOf, readEnvelope, stringValue, type Envelope } from '../json/envelope.ts';
import { addition } from '../json/objectMembers.ts';

/** The follow-up of a call that a server of 2025-11-25 carries out as a task. */
export interface TaskedCall {
  /** Asks the server for the result of the task. */
  awaitResult(taskId: string): void;
  /** Takes the task back: its client has left. */
  cancel(taskId: string): void;
}

/** A call that asks for a task (MCP 2025-11-25, "Tasks"). */
export const askingForTask = (call: Envelope): Envelope =>
  call.body === undefined ? call : edited(call, [addition(call.text, call.body, '"task":{}')]);

/** The task in the response to a call; undefined where the response has the result itself, or an error. */
export function createdTask(response: string): string | undefined {
  const read = readEnvelope(response);
  if (typeof read === 'string' || read.isError) return undefined;
  const task = memberOf(read.text, read.body, 'task');
  const id = typeof task === 'object' ? memberOf(read.text, task, 'taskId') : undefined;
  return typeof id === 'object' ? stringValue(read.text, id) : undefined;
}
