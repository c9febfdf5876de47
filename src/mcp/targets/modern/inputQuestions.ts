/** The questions in a result of the type `input_required` (2026-07-28, Multi Round-Trip Requests). */

import { randomUUID } from 'node:crypto';
import { memberOf, stringValue, type Span } from '../../json/envelope.ts';
import { addition, objectMembers } from '../../json/objectMembers.ts';
import { splice } from '../../json/scan.ts';
import { isQuestion, undeclaredCapability, type QuestionMethod } from '../../messages/clientQuestions.ts';
import type { ClientFacts } from './clientFacts.ts';

export interface InputQuestion {
  /** The server's name for it. */
  readonly key: string;
  readonly method: QuestionMethod;
  /** JSON text of an object; undefined where the server wrote none. */
  readonly params: string | undefined;
}

/** A server that has more questions at once does not ask a person. */
const maxQuestions = 32;

/**
 * Reads the member `inputRequests`.
 * @returns the words that say why the client cannot be asked, for a sentence that begins with the target
 */
export function readQuestions(
  text: string,
  span: Span,
  client: ClientFacts,
): readonly InputQuestion[] | string {
  const members = objectMembers(text, span);
  if (members === undefined) return 'asked the client with inputRequests that are no object';
  if (members.length > maxQuestions) return `asked the client more than ${maxQuestions} questions at once`;
  const questions: InputQuestion[] = [];
  const keys = new Set<string>();
  for (const { name: key, value } of members) {
    const place = memberOf(text, value, 'method');
    const method = place === 'ambiguous' ? undefined : stringValue(text, place);
    const params = memberOf(text, value, 'params');
    const isObject = typeof params === 'object' && text.charCodeAt(params.start) === 0x7b;
    // Roots are asked for without params.
    const isWhole = isObject || (params === undefined && method === 'roots/list');
    if (!isQuestion(method) || !isWhole || keys.has(key))
      return `asked the client with an input request that is none (${key.slice(0, 64)})`;
    keys.add(key);
    const written = isObject ? text.slice(params.start, params.end) : undefined;
    const isUrl = method === 'elicitation/create' && memberText(written, 'mode') === 'url';
    if (undeclaredCapability(client.capabilities, method, isUrl) !== undefined)
      return `asked for ${method}${isUrl ? ' with a URL' : ''}, which the client did not declare`;
    questions.push({ key, method, params: isUrl ? withElicitationId(written!) : written });
  }
  return questions;
}

function memberText(text: string | undefined, name: string): string | undefined {
  if (text === undefined) return undefined;
  const place = memberOf(text, { start: 0, end: text.length }, name);
  return place === 'ambiguous' ? undefined : stringValue(text, place);
}

/** 2025-11-25, URL mode: the client tells elicitations apart by an id, which the modern era does not have. */
function withElicitationId(params: string): string {
  const whole: Span = { start: 0, end: params.length };
  if (memberOf(params, whole, 'elicitationId') !== undefined) return params;
  return splice(params, [addition(params, whole, `"elicitationId":"${randomUUID()}"`)]);
}
