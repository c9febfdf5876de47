import { errorCodeOf } from '../../json/errorMember.ts';
import { modernErrors } from '../../messages/eras.ts';
import { readMessages } from './readMessages.ts';

/** Errors that are left to servers of the modern era, and that no request of an older session deserves. */
const modernRefusals: ReadonlySet<number | undefined> = new Set([
  modernErrors.headerMismatch,
  modernErrors.unsupportedVersion,
]);

/**
 * Reads the body of an HTTP answer whose status says that something is wrong.
 * @returns `response` for the response to the call, `modern refusal` where servers of the modern era alone respond like
 *   this, undefined for anything else
 */
export function readProblem(body: string, wireId: number): 'response' | 'modern refusal' | undefined {
  const [message, ...others] = readMessages(body.replaceAll(/[\r\n]/g, ' '));
  if (message === undefined || 'fault' in message || others.length > 0) return undefined;
  if (message.kind !== 'response' || message.id !== wireId) return undefined;
  return modernRefusals.has(errorCodeOf(message)) ? 'modern refusal' : 'response';
}
